"""name who has ended: the task instance that a worker's wake tells of."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("wake", sa.Column("task_instance_id", sa.BigInteger(), nullable=True))
