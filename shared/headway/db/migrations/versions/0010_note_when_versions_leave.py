"""note when versions leave: since when another version of the DAG is in force."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("dag_version", sa.Column("left_at", sa.DateTime(timezone=True), nullable=True))
    # When it was is not known of those that are there: any of them may have been in force till now.
    op.execute("""
        UPDATE dag_version AS version SET left_at = now()
         WHERE NOT EXISTS (SELECT FROM dag WHERE dag.version_id = version.id)
    """)
