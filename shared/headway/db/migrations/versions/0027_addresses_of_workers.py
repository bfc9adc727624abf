"""Let a worker say where the API can ask it for logs."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("process", sa.Column("http_address", sa.Text()))
