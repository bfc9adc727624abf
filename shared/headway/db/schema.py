"""The tables.  Migrations create them; a test holds the two against each other."""

from typing import Final

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from headway.domain.states import Outcome, Phase, RunState, RunType, TaskState

METADATA: Final = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)


def _id() -> Column[int]:
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def _moment(name: str, *, nullable: bool = True, now: bool = False) -> Column[object]:
    default = text("now()") if now else None
    return Column(
        name, DateTime(timezone=True), nullable=nullable and not now, server_default=default
    )


def _one_of(column: str, values: type[RunState | RunType | TaskState | Phase | Outcome]) -> str:
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"


Table(
    "process",
    METADATA,
    _id(),
    Column("kind", Text, nullable=False),
    Column("hostname", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column("epoch", Integer, nullable=False, server_default=text("1")),
    Column("queues", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("slots", Integer, nullable=False, server_default=text("0")),
    _moment("started_at", now=True),
    _moment("ended_at"),
    Index(None, "kind", postgresql_where=text("ended_at IS NULL")),
    comment="One row per service process; its epoch fences it.",
)

Table(
    "process_beat",
    METADATA,
    Column("process_id", ForeignKey("process.id", ondelete="CASCADE"), primary_key=True),
    _moment("beat_at", now=True),
    comment="Heartbeats, apart from the rows that they must not bloat or lock.",
    postgresql_with={"fillfactor": "50"},
)

Table(
    "dag",
    METADATA,
    Column("dag_id", Text, primary_key=True),
    Column("bundle", Text, nullable=False),
    Column("relative_path", Text, nullable=False),
    Column("description", Text),
    Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("version_id", BigInteger, ForeignKey("dag_version.id", use_alter=True)),
    Column("active", Boolean, nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("max_active_runs", Integer, nullable=False),
    Column("max_active_tasks", Integer, nullable=False),
    Column("planned_version_id", BigInteger),
    _moment("next_run_after"),
    _moment("next_interval_start"),
    _moment("next_interval_end"),
    Index(None, "next_run_after", postgresql_where=text("active AND NOT paused")),
    comment="One row per DAG.  The parser owns its version, the scheduler its next run.",
)

Table(
    "code_file",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    comment="Source by content.",
)

Table(
    "code_manifest",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("files", JSON, nullable=False),
    comment="The bundle files of a version: relative path to content hash.",
)

Table(
    "dag_version",
    METADATA,
    _id(),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("serialized", LargeBinary, nullable=False),
    Column("manifest_hash", ForeignKey("code_manifest.hash"), nullable=False),
    _moment("created_at", now=True),
    UniqueConstraint("dag_id", "number"),
    comment="What a DAG was, for ever: serialized structure and code.",
)

Table(
    "dag_task",
    METADATA,
    Column("version_id", ForeignKey("dag_version.id", ondelete="CASCADE")),
    Column("task_id", Text),
    Column("position", Integer, nullable=False),
    Column("operator", Text, nullable=False),
    Column("trigger_rule", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("pool_slots", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    PrimaryKeyConstraint("version_id", "task_id"),
)

Table(
    "dag_edge",
    METADATA,
    Column("version_id", ForeignKey("dag_version.id", ondelete="CASCADE")),
    Column("upstream", Text),
    Column("downstream", Text),
    PrimaryKeyConstraint("version_id", "upstream", "downstream"),
)

Table(
    "dag_file",
    METADATA,
    Column("bundle", Text),
    Column("relative_path", Text),
    Column("signature", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    _moment("parsed_at", now=True),
    PrimaryKeyConstraint("bundle", "relative_path"),
    comment="The last parse of every DAG file.",
)

Table(
    "import_error",
    METADATA,
    Column("bundle", Text),
    Column("relative_path", Text),
    Column("error", Text, nullable=False),
    _moment("at", now=True),
    PrimaryKeyConstraint("bundle", "relative_path"),
)

Table(
    "backfill",
    METADATA,
    _id(),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("from_date", DateTime(timezone=True), nullable=False),
    Column("to_date", DateTime(timezone=True), nullable=False),
    Column("max_active_runs", Integer, nullable=False),
    Column("planned", Integer, nullable=False),
    _moment("created_at", now=True),
    CheckConstraint("max_active_runs > 0", name="max_active_runs_check"),
)

Table(
    "dag_run",
    METADATA,
    _id(),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("run_id", Text, nullable=False),
    Column("run_type", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'queued'")),
    Column("schedule_date", DateTime(timezone=True), nullable=False),
    Column("interval_start", DateTime(timezone=True), nullable=False),
    Column("interval_end", DateTime(timezone=True), nullable=False),
    Column("run_after", DateTime(timezone=True), nullable=False),
    Column("conf", JSON, nullable=False, server_default=text("'{}'")),
    Column("version_id", BigInteger, ForeignKey("dag_version.id"), nullable=False),
    Column("backfill_id", BigInteger, ForeignKey("backfill.id")),
    _moment("created_at", now=True),
    _moment("started_at"),
    _moment("ended_at"),
    UniqueConstraint("dag_id", "run_id"),
    CheckConstraint(_one_of("state", RunState), name="state_check"),
    CheckConstraint(_one_of("run_type", RunType), name="run_type_check"),
    CheckConstraint("interval_start <= interval_end", name="interval_check"),
    CheckConstraint("(run_type = 'backfill') = (backfill_id IS NOT NULL)", name="backfill_check"),
    CheckConstraint("(state = 'queued') = (started_at IS NULL)", name="started_check"),
    CheckConstraint(
        "(state IN ('success', 'failed')) = (ended_at IS NOT NULL)", name="ended_check"
    ),
    # I4: an interval is created once, whoever creates it.
    Index(
        "dag_run_one_automated",
        "dag_id",
        "schedule_date",
        unique=True,
        postgresql_where=text("run_type <> 'manual'"),
    ),
    Index("dag_run_schedule", "dag_id", "schedule_date", "id"),
    Index("dag_run_queued", "dag_id", "run_after", postgresql_where=text("state = 'queued'")),
    Index("dag_run_running", "dag_id", postgresql_where=text("state = 'running'")),
    Index("dag_run_backfill", "backfill_id", postgresql_where=text("backfill_id IS NOT NULL")),
)

Table(
    "task_instance",
    METADATA,
    _id(),
    Column("dag_run_id", ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    Column("dag_id", Text, nullable=False),
    Column("task_id", Text, nullable=False),
    Column("map_index", Integer, nullable=False, server_default=text("-1")),
    Column("state", Text, nullable=False, server_default=text("'none'")),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("losses", Integer, nullable=False, server_default=text("0")),
    Column("pool", Text, nullable=False),
    Column("pool_slots", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("skips", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    _moment("retry_at"),
    _moment("started_at"),
    _moment("ended_at"),
    UniqueConstraint("dag_run_id", "task_id", "map_index"),
    CheckConstraint(_one_of("state", TaskState), name="state_check"),
    CheckConstraint("(state = 'up_for_retry') = (retry_at IS NOT NULL)", name="retry_check"),
    Index(
        "task_instance_scheduled",
        "pool",
        text("priority DESC"),
        "id",
        postgresql_where=text("state = 'scheduled'"),
    ),
    Index("task_instance_retry", "retry_at", postgresql_where=text("state = 'up_for_retry'")),
)

Table(
    "task_attempt",
    METADATA,
    Column("task_instance_id", ForeignKey("task_instance.id", ondelete="CASCADE")),
    Column("attempt", Integer),
    Column("phase", Text, nullable=False, server_default=text("'queued'")),
    Column("dag_id", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("pool_slots", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("token", Uuid),
    Column("process_id", BigInteger, ForeignKey("process.id")),
    Column("queued_at", DateTime(timezone=True), nullable=False),
    _moment("started_at"),
    _moment("ended_at"),
    Column("outcome", Text),
    Column("error", Text),
    Column("handle", JSON),
    PrimaryKeyConstraint("task_instance_id", "attempt"),
    CheckConstraint("attempt > 0", name="attempt_check"),
    CheckConstraint(_one_of("phase", Phase), name="phase_check"),
    CheckConstraint(_one_of("outcome", Outcome), name="outcome_check"),
    CheckConstraint("(phase = 'ended') = (ended_at IS NOT NULL)", name="ended_check"),
    CheckConstraint("(phase = 'ended') = (outcome IS NOT NULL)", name="outcome_when_ended_check"),
    CheckConstraint(
        "phase NOT IN ('running', 'stopping') OR (token IS NOT NULL AND process_id IS NOT NULL)",
        name="claimed_check",
    ),
    # I1: a task instance has one live attempt at most.
    Index(
        "task_attempt_one_live",
        "task_instance_id",
        unique=True,
        postgresql_where=text("ended_at IS NULL"),
    ),
    Index("task_attempt_live_pool", "pool", postgresql_where=text("ended_at IS NULL")),
    Index("task_attempt_live_dag", "dag_id", postgresql_where=text("ended_at IS NULL")),
    Index("task_attempt_live_process", "process_id", postgresql_where=text("ended_at IS NULL")),
    Index(
        "task_attempt_queued",
        "queue",
        text("priority DESC"),
        "task_instance_id",
        postgresql_where=text("phase = 'queued'"),
    ),
    comment="Append-only: one row per try.",
)

Table(
    "lease",
    METADATA,
    Column("task_instance_id", BigInteger),
    Column("attempt", Integer),
    Column("token", Uuid, nullable=False),
    _moment("expires_at", nullable=False),
    PrimaryKeyConstraint("task_instance_id", "attempt"),
    comment="How long a running attempt is its worker's, on the clock of the database.",
    postgresql_with={"fillfactor": "60"},
)

Table(
    "wake",
    METADATA,
    _id(),
    Column("dag_run_id", ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    Index(None, "dag_run_id"),
    comment="Facts for the scheduler to settle: something of this run has changed.",
)

Table(
    "pool",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("slots", Integer, nullable=False),
    Column("description", Text, nullable=False, server_default=text("''")),
    CheckConstraint("slots >= 0", name="slots_check"),
)

Table(
    "xcom",
    METADATA,
    Column("task_instance_id", ForeignKey("task_instance.id", ondelete="CASCADE")),
    Column("attempt", Integer),
    Column("key", Text),
    Column("value", JSON, nullable=False),
    PrimaryKeyConstraint("task_instance_id", "attempt", "key"),
)

Table(
    "event",
    METADATA,
    _id(),
    _moment("at", now=True),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("dag_id", Text),
    Column("run_id", Text),
    Column("task_id", Text),
    Column("details", JSON, nullable=False, server_default=text("'{}'")),
    comment="Append-only: who changed what, and why.",
)
