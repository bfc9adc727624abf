"""Have a place for what a task instance is called."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("task_instance", sa.Column("rendered_map_index", sa.String(250)))
