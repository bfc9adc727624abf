"""plan backfills: what becomes of each date, and what waits behind the runs of the schedule."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    for column, default in (("reprocess", "'none'"), ("direction", "'forward'")):
        op.add_column(
            "backfill",
            sa.Column(column, sa.Text(), server_default=sa.text(default), nullable=False),
        )
    for column, default in (("rollup", "1"), ("weight", "100")):
        op.add_column(
            "backfill",
            sa.Column(column, sa.Integer(), server_default=sa.text(default), nullable=False),
        )
    for column in ("idle_only", "paused"):
        op.add_column(
            "backfill",
            sa.Column(column, sa.Boolean(), server_default=sa.text("false"), nullable=False),
        )
    lane = sa.Computed("1 + CAST(idle_only AS integer)", persisted=True)
    op.add_column("backfill", sa.Column("lane", sa.SmallInteger(), lane, nullable=True))
    op.add_column("backfill", sa.Column("cancelled_at", sa.DateTime(timezone=True), nullable=True))
    for name, condition in (
        ("reprocess_check", "reprocess IN ('none', 'failed', 'completed')"),
        ("direction_check", "direction IN ('forward', 'backward')"),
        ("rollup_check", "rollup > 0"),
        ("weight_check", "weight BETWEEN 1 AND 100"),
    ):
        op.create_check_constraint(op.f(f"backfill_{name}"), "backfill", condition)
    op.create_table(
        "backfill_date",
        sa.Column("backfill_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("schedule_date", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fate", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "fate IN ('create', 'rerun', 'skip', 'conflict')",
            name=op.f("backfill_date_fate_check"),
        ),
        sa.ForeignKeyConstraint(
            ["backfill_id"],
            ["backfill.id"],
            name=op.f("backfill_date_backfill_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["dag_run_id"],
            ["dag_run.id"],
            name=op.f("backfill_date_dag_run_id_fkey"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("backfill_id", "position", name=op.f("backfill_date_pkey")),
        comment="The plan of each backfill: what becomes of every date, and in which run.",
    )
    op.create_index(
        "backfill_date_run",
        "backfill_date",
        ["dag_run_id"],
        postgresql_where=sa.text("dag_run_id IS NOT NULL"),
    )
    op.create_index(
        "backfill_date_created",
        "backfill_date",
        ["backfill_id", "schedule_date"],
        unique=False,
        postgresql_where=sa.text("fate = 'create'"),
    )
    op.create_index("backfill_dag_id_idx", "backfill", ["dag_id"])
    # A run of the schedule that runs again in a backfill is in the backfill's lane.
    op.drop_constraint(op.f("dag_run_backfill_check"), "dag_run", type_="check")
    op.create_check_constraint(
        op.f("dag_run_backfill_check"),
        "dag_run",
        "run_type <> 'backfill' OR backfill_id IS NOT NULL",
    )
    op.add_column(
        "task_instance",
        sa.Column("lane", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
    )
    # A backfill that has not ended goes on in its lane.  What is queued or running has its place.
    op.execute("""
        UPDATE task_instance AS task
           SET lane = 1, limited = true, rank = rank + 1e12
          FROM dag_run AS run
         WHERE task.dag_run_id = run.id AND run.backfill_id IS NOT NULL
           AND run.state IN ('queued', 'running')
    """)
    op.create_index(
        "task_instance_large",
        "task_instance",
        ["pool", "lane", "pool_slots"],
        postgresql_where=sa.text("state = 'scheduled' AND pool_slots > 1"),
    )
