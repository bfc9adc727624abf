"""keep the bundle's files: what a task may read besides the files of its version."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column(
        "dag_version",
        sa.Column("bundle_hash", sa.Text(), sa.ForeignKey("code_manifest.hash"), nullable=True),
    )
    op.create_index("dag_version_bundle_hash_idx", "dag_version", ["bundle_hash"])
