"""compare clocks: by how much the clock of a process differs from the database's."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("process_beat", sa.Column("clock_skew", sa.Double(), nullable=True))
