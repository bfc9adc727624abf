"""Find overlapping intervals of a DAG by a hash of its id first."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

NAME = "dag_run_intervals_apart"


def upgrade() -> None:
    """Apply the change."""
    op.execute(f"ALTER TABLE dag_run DROP CONSTRAINT {NAME}")
    op.execute(
        f"ALTER TABLE dag_run ADD CONSTRAINT {NAME} EXCLUDE USING gist "
        "(hashtextextended(dag_id, 0) WITH =, dag_id WITH =, "
        "tstzrange(interval_start, interval_end) WITH &&) WHERE (partitions)"
    )
