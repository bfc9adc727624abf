"""complete the bundle's files: of which versions not all of them are stored yet."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column(
        "dag_version",
        sa.Column("bundle_complete", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.create_index(
        "dag_version_incomplete",
        "dag_version",
        ["id"],
        unique=False,
        postgresql_where=sa.text("NOT bundle_complete"),
    )
