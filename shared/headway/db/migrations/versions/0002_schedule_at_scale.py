"""schedule at scale."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
    op.create_index(
        "dag_to_plan",
        "dag",
        ["dag_id"],
        unique=False,
        postgresql_where=sa.text(
            "active AND NOT paused AND planned_version_id IS DISTINCT FROM version_id"
        ),
    )
    op.add_column(
        "dag_run",
        sa.Column("partitions", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("dag_run", sa.Column("lock_id", sa.BigInteger(), nullable=True))
    op.add_column("dag_run", sa.Column("unfinished", sa.Integer(), nullable=True))
    op.add_column("dag_run", sa.Column("end_as", sa.Text(), nullable=True))
    op.add_column("dag_run", sa.Column("deadline", sa.DateTime(timezone=True), nullable=True))
    op.drop_index(
        op.f("dag_run_queued"), table_name="dag_run", postgresql_where="(state = 'queued'::text)"
    )
    op.create_index(
        "dag_run_queued",
        "dag_run",
        ["dag_id", "backfill_id", "run_after", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.drop_index(
        op.f("dag_run_running"), table_name="dag_run", postgresql_where="(state = 'running'::text)"
    )
    op.create_index(
        "dag_run_running",
        "dag_run",
        ["dag_id", "backfill_id"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "dag_run_deadline",
        "dag_run",
        ["deadline"],
        unique=False,
        postgresql_where=sa.text("state = 'running' AND deadline IS NOT NULL"),
    )
    op.create_index(
        "dag_run_locked",
        "dag_run",
        ["lock_id"],
        unique=False,
        postgresql_where=sa.text("lock_id IS NOT NULL"),
    )
    op.add_column(
        "dag_task",
        sa.Column("upstreams", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "dag_task",
        sa.Column("starts", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column(
        "dag_task",
        sa.Column("mapped", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("dag_task", sa.Column("max_active_tis_per_dag", sa.Integer(), nullable=True))
    op.add_column("dag_task", sa.Column("max_active_tis_per_dagrun", sa.Integer(), nullable=True))
    op.add_column(
        "dag_task",
        sa.Column("on_lost", sa.Text(), server_default=sa.text("'retry'"), nullable=False),
    )
    op.add_column(
        "dag_version", sa.Column("max_active_tasks_per_dagrun", sa.Integer(), nullable=True)
    )
    op.add_column("dag_version", sa.Column("dagrun_timeout", sa.Double(), nullable=True))
    op.add_column(
        "dag_version",
        sa.Column("look_at_start", sa.Boolean(), server_default=sa.text("true"), nullable=False),
    )
    op.create_table_comment(
        "lease",
        "How long an attempt is its worker's since the last renewal, on the database's clock.",
        existing_comment="How long a running attempt is its worker's, on the clock of the database.",
        schema=None,
    )
    op.add_column(
        "pool",
        sa.Column(
            "include_deferred", sa.Boolean(), server_default=sa.text("false"), nullable=False
        ),
    )
    op.add_column(
        "process",
        sa.Column("exclusive", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column(
        "task_attempt", sa.Column("rank", sa.Double(), server_default=sa.text("0"), nullable=False)
    )
    op.alter_column("task_attempt", "rank", server_default=None)
    op.add_column("task_attempt", sa.Column("scheduler_id", sa.BigInteger(), nullable=True))
    op.add_column(
        "task_attempt", sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True)
    )
    op.add_column("task_attempt", sa.Column("stop_to", sa.Text(), nullable=True))
    op.drop_index(
        op.f("task_attempt_live_dag"),
        table_name="task_attempt",
        postgresql_where="(ended_at IS NULL)",
    )
    op.drop_index(
        op.f("task_attempt_live_pool"),
        table_name="task_attempt",
        postgresql_where="(ended_at IS NULL)",
    )
    op.drop_index(
        op.f("task_attempt_live_process"),
        table_name="task_attempt",
        postgresql_where="(ended_at IS NULL)",
    )
    op.drop_index(
        op.f("task_attempt_queued"),
        table_name="task_attempt",
        postgresql_where="(phase = 'queued'::text)",
    )
    op.create_index(
        "task_attempt_queued",
        "task_attempt",
        ["queue", "rank", "task_instance_id"],
        unique=False,
        postgresql_where=sa.text("phase = 'queued'"),
    )
    op.drop_constraint(op.f("task_attempt_process_id_fkey"), "task_attempt", type_="foreignkey")
    op.drop_column("task_attempt", "priority")
    op.add_column(
        "task_instance", sa.Column("rank", sa.Double(), server_default=sa.text("0"), nullable=False)
    )
    op.add_column(
        "task_instance",
        sa.Column("limited", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column(
        "task_instance",
        sa.Column("up_total", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "task_instance",
        sa.Column("up_success", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "task_instance",
        sa.Column("up_failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "task_instance",
        sa.Column("up_upstream_failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "task_instance",
        sa.Column("up_skipped", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column(
        "task_instance",
        sa.Column("up_removed", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.drop_constraint(
        op.f("task_instance_dag_run_id_task_id_map_index_key"), "task_instance", type_="unique"
    )
    op.drop_index(
        op.f("task_instance_scheduled"),
        table_name="task_instance",
        postgresql_where="(state = 'scheduled'::text)",
    )
    op.create_index(
        "task_instance_scheduled",
        "task_instance",
        ["pool", "dag_id", "rank", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'scheduled' AND NOT limited"),
    )
    op.create_unique_constraint(
        op.f("task_instance_dag_run_id_map_index_task_id_key"),
        "task_instance",
        ["dag_run_id", "map_index", "task_id"],
    )
    op.create_index(
        "task_instance_deferred",
        "task_instance",
        ["pool"],
        unique=False,
        postgresql_where=sa.text("state = 'deferred'"),
    )
    op.create_index(
        "task_instance_limited",
        "task_instance",
        ["pool", "dag_id", "dag_run_id", "task_id", "rank", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'scheduled' AND limited"),
    )
    op.add_column("wake", sa.Column("task_id", sa.Text(), nullable=True))
    op.add_column("wake", sa.Column("state", sa.Text(), nullable=True))
    op.add_column("wake", sa.Column("skips", sa.ARRAY(sa.Text()), nullable=True))
    op.drop_constraint(op.f("wake_dag_run_id_fkey"), "wake", type_="foreignkey")
    op.create_table_comment(
        "wake",
        "Facts for the scheduler to settle: an instance of the task ended in that state, or, without a task, the run is to be looked at as a whole.",
        existing_comment="Facts for the scheduler to settle: something of this run has changed.",
        schema=None,
    )
    op.drop_column("wake", "id")
    op.add_column("xcom", sa.Column("length", sa.Integer(), nullable=True))
    op.execute(
        "ALTER TABLE dag_run ADD CONSTRAINT dag_run_intervals_apart EXCLUDE USING gist "
        "(dag_id WITH =, tstzrange(interval_start, interval_end) WITH &&) WHERE (partitions)"
    )
    op.create_check_constraint(
        op.f("dag_run_end_as_check"), "dag_run", "end_as IN ('success', 'failed')"
    )
    op.create_check_constraint(
        op.f("wake_fact_check"), "wake", "(task_id IS NULL) = (state IS NULL)"
    )
    op.execute(
        "UPDATE task_attempt SET claimed_until = now() + interval '1 minute' WHERE phase IN ('running', 'stopping')"
    )
    op.execute("UPDATE task_attempt SET stop_to = 'failed' WHERE phase = 'stopping'")
    op.drop_constraint(op.f("task_attempt_claimed_check"), "task_attempt", type_="check")
    op.create_check_constraint(
        op.f("task_attempt_claimed_check"),
        "task_attempt",
        "phase NOT IN ('running', 'stopping') "
        "OR (token IS NOT NULL AND process_id IS NOT NULL AND claimed_until IS NOT NULL)",
    )
    op.create_check_constraint(
        op.f("task_attempt_stop_to_check"),
        "task_attempt",
        "stop_to IN ('none', 'success', 'failed', 'skipped')",
    )
    op.create_check_constraint(
        op.f("task_attempt_stopping_check"),
        "task_attempt",
        "phase <> 'stopping' OR stop_to IS NOT NULL",
    )
    op.execute("ALTER TABLE dag_run SET (fillfactor = 70)")
    for table in ("wake", "lease"):
        op.execute(
            f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0, "
            "autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1)"
        )
    # What counts up from now on is counted once for the runs that are under way.
    op.execute(
        "UPDATE task_instance SET rank = -priority WHERE state IN ('none', 'scheduled', 'queued')"
    )
    op.execute("INSERT INTO wake (dag_run_id) SELECT id FROM dag_run WHERE state = 'running'")
