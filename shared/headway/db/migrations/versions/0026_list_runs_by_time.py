"""List runs by when they are due and started, and what ended in Spark by when, by indexes."""

from alembic import op
from sqlalchemy import text

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_index("dag_run_after", "dag_run", ["run_after", "id"])
    started = text("started_at IS NOT NULL")
    op.create_index("dag_run_started", "dag_run", ["started_at", "id"], postgresql_where=started)
    spark = text("handle IS NOT NULL AND ended_at IS NOT NULL")
    op.create_index("task_attempt_spark", "task_attempt", ["ended_at"], postgresql_where=spark)
