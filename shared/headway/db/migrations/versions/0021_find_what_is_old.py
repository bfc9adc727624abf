"""Find what is old, and who has run it, by indexes."""

from alembic import op
from sqlalchemy import text

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    ended, run = text("ended_at IS NOT NULL"), text("process_id IS NOT NULL")
    op.create_index("dag_run_ended", "dag_run", ["ended_at", "id"], postgresql_where=ended)
    op.create_index("task_attempt_ended", "task_attempt", ["process_id"], postgresql_where=ended)
    op.create_index("callback_process", "callback", ["process_id"], postgresql_where=run)
