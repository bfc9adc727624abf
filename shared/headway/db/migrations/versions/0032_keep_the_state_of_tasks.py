"""Add the table of what tasks keep from attempt to attempt."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "task_state_store",
        sa.Column("dag_run_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("map_index", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column(
            "written_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint(
            "dag_run_id", "task_id", "map_index", "key", name=op.f("task_state_store_pkey")
        ),
        sa.ForeignKeyConstraint(
            ["dag_run_id"],
            ["dag_run.id"],
            name=op.f("task_state_store_dag_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(
            "length(key) BETWEEN 1 AND 512", name=op.f("task_state_store_key_check")
        ),
        comment="What a task instance keeps by key; all its attempts find it.",
    )
    op.create_index(
        "task_state_store_expires",
        "task_state_store",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    )
