"""Create the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "code_file",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("code_file_pkey")),
        comment="Source by content.",
    )
    op.create_table(
        "code_manifest",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("code_manifest_pkey")),
        comment="The bundle files of a version: relative path to content hash.",
    )
    op.create_table(
        "dag",
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("bundle", sa.Text(), nullable=False),
        sa.Column("relative_path", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("tags", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("version_id", sa.BigInteger(), nullable=True),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("max_active_runs", sa.Integer(), nullable=False),
        sa.Column("max_active_tasks", sa.Integer(), nullable=False),
        sa.Column("planned_version_id", sa.BigInteger(), nullable=True),
        sa.Column("next_run_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_interval_start", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_interval_end", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("dag_id", name=op.f("dag_pkey")),
        comment="One row per DAG.  The parser owns its version, the scheduler its next run.",
    )
    op.create_index(
        op.f("dag_next_run_after_idx"),
        "dag",
        ["next_run_after"],
        unique=False,
        postgresql_where=sa.text("active AND NOT paused"),
    )
    op.create_table(
        "dag_file",
        sa.Column("bundle", sa.Text(), nullable=False),
        sa.Column("relative_path", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column(
            "parsed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("bundle", "relative_path", name=op.f("dag_file_pkey")),
        comment="The last parse of every DAG file.",
    )
    op.create_table(
        "event",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("details", sa.JSON(), server_default=sa.text("'{}'"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("event_pkey")),
        comment="Append-only: who changed what, and why.",
    )
    op.create_table(
        "import_error",
        sa.Column("bundle", sa.Text(), nullable=False),
        sa.Column("relative_path", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("bundle", "relative_path", name=op.f("import_error_pkey")),
    )
    op.create_table(
        "lease",
        sa.Column("task_instance_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("token", sa.Uuid(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("task_instance_id", "attempt", name=op.f("lease_pkey")),
        comment="How long a running attempt is its worker's, on the clock of the database.",
        postgresql_with={"fillfactor": "60"},
    )
    op.create_table(
        "pool",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("description", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.CheckConstraint("slots >= 0", name=op.f("pool_slots_check")),
        sa.PrimaryKeyConstraint("name", name=op.f("pool_pkey")),
    )
    op.create_table(
        "process",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("queues", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("slots", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("process_pkey")),
        comment="One row per service process; its epoch fences it.",
    )
    op.create_index(
        op.f("process_kind_idx"),
        "process",
        ["kind"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "backfill",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("from_date", sa.DateTime(timezone=True), nullable=False),
        sa.Column("to_date", sa.DateTime(timezone=True), nullable=False),
        sa.Column("max_active_runs", sa.Integer(), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("max_active_runs > 0", name=op.f("backfill_max_active_runs_check")),
        sa.ForeignKeyConstraint(
            ["dag_id"], ["dag.dag_id"], name=op.f("backfill_dag_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("backfill_pkey")),
    )
    op.create_table(
        "dag_version",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("serialized", sa.LargeBinary(), nullable=False),
        sa.Column("manifest_hash", sa.Text(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["dag_id"], ["dag.dag_id"], name=op.f("dag_version_dag_id_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["manifest_hash"], ["code_manifest.hash"], name=op.f("dag_version_manifest_hash_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("dag_version_pkey")),
        sa.UniqueConstraint("dag_id", "number", name=op.f("dag_version_dag_id_number_key")),
        comment="What a DAG was, for ever: serialized structure and code.",
    )
    op.create_table(
        "process_beat",
        sa.Column("process_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "beat_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["process_id"],
            ["process.id"],
            name=op.f("process_beat_process_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("process_id", name=op.f("process_beat_pkey")),
        comment="Heartbeats, apart from the rows that they must not bloat or lock.",
        postgresql_with={"fillfactor": "50"},
    )
    op.create_table(
        "dag_edge",
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("upstream", sa.Text(), nullable=False),
        sa.Column("downstream", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"],
            ["dag_version.id"],
            name=op.f("dag_edge_version_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("version_id", "upstream", "downstream", name=op.f("dag_edge_pkey")),
    )
    op.create_table(
        "dag_run",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("run_type", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column("schedule_date", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_after", sa.DateTime(timezone=True), nullable=False),
        sa.Column("conf", sa.JSON(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("backfill_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(run_type = 'backfill') = (backfill_id IS NOT NULL)",
            name=op.f("dag_run_backfill_check"),
        ),
        sa.CheckConstraint(
            "(state = 'queued') = (started_at IS NULL)", name=op.f("dag_run_started_check")
        ),
        sa.CheckConstraint(
            "(state IN ('success', 'failed')) = (ended_at IS NOT NULL)",
            name=op.f("dag_run_ended_check"),
        ),
        sa.CheckConstraint(
            "run_type IN ('scheduled', 'manual', 'backfill')", name=op.f("dag_run_run_type_check")
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'success', 'failed')", name=op.f("dag_run_state_check")
        ),
        sa.CheckConstraint("interval_start <= interval_end", name=op.f("dag_run_interval_check")),
        sa.ForeignKeyConstraint(
            ["backfill_id"], ["backfill.id"], name=op.f("dag_run_backfill_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["dag_id"], ["dag.dag_id"], name=op.f("dag_run_dag_id_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["version_id"], ["dag_version.id"], name=op.f("dag_run_version_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("dag_run_pkey")),
        sa.UniqueConstraint("dag_id", "run_id", name=op.f("dag_run_dag_id_run_id_key")),
    )
    op.create_index(
        "dag_run_backfill",
        "dag_run",
        ["backfill_id"],
        unique=False,
        postgresql_where=sa.text("backfill_id IS NOT NULL"),
    )
    op.create_index(
        "dag_run_one_automated",
        "dag_run",
        ["dag_id", "schedule_date"],
        unique=True,
        postgresql_where=sa.text("run_type <> 'manual'"),
    )
    op.create_index(
        "dag_run_queued",
        "dag_run",
        ["dag_id", "run_after"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        "dag_run_running",
        "dag_run",
        ["dag_id"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index("dag_run_schedule", "dag_run", ["dag_id", "schedule_date", "id"], unique=False)
    op.create_table(
        "dag_task",
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("trigger_rule", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("pool_slots", sa.Integer(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"],
            ["dag_version.id"],
            name=op.f("dag_task_version_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("version_id", "task_id", name=op.f("dag_task_pkey")),
    )
    op.create_table(
        "task_instance",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("map_index", sa.Integer(), server_default=sa.text("-1"), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'none'"), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("losses", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("pool_slots", sa.Integer(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("skips", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(state = 'up_for_retry') = (retry_at IS NOT NULL)",
            name=op.f("task_instance_retry_check"),
        ),
        sa.CheckConstraint(
            "state IN ('none', 'scheduled', 'queued', 'running', 'restarting', 'deferred', 'up_for_retry', 'success', 'failed', 'skipped', 'upstream_failed', 'removed')",
            name=op.f("task_instance_state_check"),
        ),
        sa.ForeignKeyConstraint(
            ["dag_run_id"],
            ["dag_run.id"],
            name=op.f("task_instance_dag_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("task_instance_pkey")),
        sa.UniqueConstraint(
            "dag_run_id",
            "task_id",
            "map_index",
            name=op.f("task_instance_dag_run_id_task_id_map_index_key"),
        ),
    )
    op.create_index(
        "task_instance_retry",
        "task_instance",
        ["retry_at"],
        unique=False,
        postgresql_where=sa.text("state = 'up_for_retry'"),
    )
    op.create_index(
        "task_instance_scheduled",
        "task_instance",
        ["pool", sa.literal_column("priority DESC"), "id"],
        unique=False,
        postgresql_where=sa.text("state = 'scheduled'"),
    )
    op.create_table(
        "wake",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dag_run_id"], ["dag_run.id"], name=op.f("wake_dag_run_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("wake_pkey")),
        comment="Facts for the scheduler to settle: something of this run has changed.",
    )
    op.create_index(op.f("wake_dag_run_id_idx"), "wake", ["dag_run_id"], unique=False)
    op.create_table(
        "task_attempt",
        sa.Column("task_instance_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("phase", sa.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("pool_slots", sa.Integer(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("token", sa.Uuid(), nullable=True),
        sa.Column("process_id", sa.BigInteger(), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("handle", sa.JSON(), nullable=True),
        sa.CheckConstraint(
            "(phase = 'ended') = (ended_at IS NOT NULL)", name=op.f("task_attempt_ended_check")
        ),
        sa.CheckConstraint(
            "(phase = 'ended') = (outcome IS NOT NULL)",
            name=op.f("task_attempt_outcome_when_ended_check"),
        ),
        sa.CheckConstraint(
            "outcome IN ('success', 'failed', 'skipped', 'timed_out', 'lost', 'cancelled')",
            name=op.f("task_attempt_outcome_check"),
        ),
        sa.CheckConstraint(
            "phase IN ('queued', 'running', 'stopping', 'ended')",
            name=op.f("task_attempt_phase_check"),
        ),
        sa.CheckConstraint(
            "phase NOT IN ('running', 'stopping') OR (token IS NOT NULL AND process_id IS NOT NULL)",
            name=op.f("task_attempt_claimed_check"),
        ),
        sa.CheckConstraint("attempt > 0", name=op.f("task_attempt_attempt_check")),
        sa.ForeignKeyConstraint(
            ["process_id"], ["process.id"], name=op.f("task_attempt_process_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["task_instance_id"],
            ["task_instance.id"],
            name=op.f("task_attempt_task_instance_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("task_instance_id", "attempt", name=op.f("task_attempt_pkey")),
        comment="Append-only: one row per try.",
    )
    op.create_index(
        "task_attempt_live_dag",
        "task_attempt",
        ["dag_id"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "task_attempt_live_pool",
        "task_attempt",
        ["pool"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "task_attempt_live_process",
        "task_attempt",
        ["process_id"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "task_attempt_one_live",
        "task_attempt",
        ["task_instance_id"],
        unique=True,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "task_attempt_queued",
        "task_attempt",
        ["queue", sa.literal_column("priority DESC"), "task_instance_id"],
        unique=False,
        postgresql_where=sa.text("phase = 'queued'"),
    )
    op.create_table(
        "xcom",
        sa.Column("task_instance_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_instance_id"],
            ["task_instance.id"],
            name=op.f("xcom_task_instance_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("task_instance_id", "attempt", "key", name=op.f("xcom_pkey")),
    )
    # A DAG and its versions refer to each other.
    op.create_foreign_key("dag_version_id_fkey", "dag", "dag_version", ["version_id"], ["id"])
    op.execute("INSERT INTO pool (name, slots, description) VALUES ('default_pool', 128, '')")
