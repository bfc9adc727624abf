"""let workers drain, and say what they have left."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("process", sa.Column("drain_asked_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("process_beat", sa.Column("report", sa.JSON(), nullable=True))
