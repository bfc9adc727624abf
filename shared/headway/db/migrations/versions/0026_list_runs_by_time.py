"""List the runs of all DAGs by when they are due and when they started, by indexes."""

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
