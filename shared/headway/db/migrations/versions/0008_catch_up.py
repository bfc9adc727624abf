"""catch up: know since when each DAG is scheduled, and what has no run of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column(
        "dag",
        sa.Column(
            "scheduled_since",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
    )
    op.add_column("dag", sa.Column("watched_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("dag", sa.Column("schedule_error", sa.Text(), nullable=True))
    op.add_column("dag", sa.Column("next_below", sa.Integer(), nullable=True))
    op.create_table(
        "passed_interval",
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("schedule_date", sa.DateTime(timezone=True), nullable=False),
        sa.Column("first_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.CheckConstraint(
            "reason IN ('catchup', 'window', 'overlap', 'rollup', 'backfill', 'conflict')",
            name=op.f("passed_interval_reason_check"),
        ),
        sa.CheckConstraint(
            "(reason = 'rollup') = (dag_run_id IS NOT NULL)",
            name=op.f("passed_interval_run_check"),
        ),
        sa.ForeignKeyConstraint(
            ["dag_id"],
            ["dag.dag_id"],
            name=op.f("passed_interval_dag_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["dag_run_id"],
            ["dag_run.id"],
            name=op.f("passed_interval_dag_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "dag_id",
            "interval_end",
            "schedule_date",
            "interval_start",
            name=op.f("passed_interval_pkey"),
        ),
        comment="Intervals of a schedule without a run of their own, and the run that covers them.",
    )
    op.create_index(
        "passed_interval_run",
        "passed_interval",
        ["dag_run_id"],
        unique=False,
        postgresql_where=sa.text("dag_run_id IS NOT NULL"),
    )
    op.drop_index("dag_run_one_automated", table_name="dag_run")
    op.create_index(
        "dag_run_one_automated",
        "dag_run",
        ["dag_id", "interval_end", "schedule_date", "interval_start"],
        unique=True,
        postgresql_where=sa.text("run_type <> 'manual'"),
    )
    op.create_table(
        "schedule_watch",
        sa.Column("one", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("one", name=op.f("schedule_watch_one_check")),
        sa.PrimaryKeyConstraint("one", name=op.f("schedule_watch_pkey")),
        comment="Since when there is a scheduler without a break, and when one was there last.",
    )
