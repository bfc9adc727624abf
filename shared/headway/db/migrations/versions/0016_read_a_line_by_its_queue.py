"""read a line by its queue: tasks of other queues do not stand in the way."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.drop_index("task_instance_line", table_name="task_instance")
    op.create_index(
        "task_instance_line",
        "task_instance",
        ["pool", "queue", "rank", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'scheduled' AND NOT limited"),
    )
