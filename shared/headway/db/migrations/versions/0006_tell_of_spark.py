"""tell of Spark."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "spark_work",
        sa.Column("task_instance_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=True),
        sa.Column("figures", sa.JSON(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_instance_id", "attempt"],
            ["task_attempt.task_instance_id", "task_attempt.attempt"],
            name=op.f("spark_work_task_instance_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("task_instance_id", "attempt", name=op.f("spark_work_pkey")),
        comment="What an attempt does in Spark: how far it is, what it took. Written every second.",
        postgresql_with={"fillfactor": "60"},
    )
