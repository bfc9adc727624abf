"""look no further than is taken: indexes in the order in which DAGs and tasks are taken."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_index(
        "dag_due",
        "dag",
        ["next_run_after", "dag_id"],
        unique=False,
        postgresql_where=sa.text("active AND NOT paused"),
    )
    op.drop_index(op.f("dag_next_run_after_idx"), table_name="dag")
    op.create_index(
        "task_instance_line",
        "task_instance",
        ["pool", "rank", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'scheduled' AND NOT limited"),
    )
