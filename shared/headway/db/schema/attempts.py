"""How tasks run: attempts and the leases on them."""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from headway.db.schema.columns import METADATA, QUEUE_STORAGE, moment, one_of
from headway.domain.states import Outcome, Phase

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
    Column("rank", Double, nullable=False),
    Column("scheduler_id", BigInteger),
    Column("token", Uuid),
    Column("process_id", BigInteger),
    Column("queued_at", DateTime(timezone=True), nullable=False),
    # Until when it is its worker's, before the first renewal enters a lease.
    moment("claimed_until"),
    moment("started_at"),
    moment("ended_at"),
    Column("outcome", Text),
    Column("error", Text),
    Column("handle", JSON),
    # The state that its task instance takes when an attempt that was told to stop has ended.
    Column("stop_to", Text),
    # The version whose code it runs since it was claimed; its run may have another one by now.
    Column("version_id", BigInteger),
    PrimaryKeyConstraint("task_instance_id", "attempt"),
    CheckConstraint("attempt > 0", name="attempt_check"),
    CheckConstraint(one_of("phase", Phase), name="phase_check"),
    CheckConstraint(one_of("outcome", Outcome), name="outcome_check"),
    CheckConstraint("(phase = 'ended') = (ended_at IS NOT NULL)", name="ended_check"),
    CheckConstraint("(phase = 'ended') = (outcome IS NOT NULL)", name="outcome_when_ended_check"),
    CheckConstraint(
        "phase NOT IN ('running', 'stopping') "
        "OR (token IS NOT NULL AND process_id IS NOT NULL AND claimed_until IS NOT NULL)",
        name="claimed_check",
    ),
    CheckConstraint("stop_to IN ('none', 'success', 'failed', 'skipped')", name="stop_to_check"),
    CheckConstraint("phase <> 'stopping' OR stop_to IS NOT NULL", name="stopping_check"),
    # I1: a task instance has one live attempt at most.
    Index(
        "task_attempt_one_live",
        "task_instance_id",
        unique=True,
        postgresql_where=text("ended_at IS NULL"),
    ),
    Index(
        "task_attempt_queued",
        "queue",
        "rank",
        "task_instance_id",
        postgresql_where=text("phase = 'queued'"),
    ),
    # What a process has run: its row stays as long as that.
    Index("task_attempt_ended", "process_id", postgresql_where=text("ended_at IS NOT NULL")),
    # What ended attempts took in Spark, of a span of time.
    Index(
        "task_attempt_spark",
        "ended_at",
        postgresql_where=text("handle IS NOT NULL AND ended_at IS NOT NULL"),
    ),
    comment="Append-only: one row per try.",
)

Table(
    "lease",
    METADATA,
    Column("task_instance_id", BigInteger),
    Column("attempt", Integer),
    Column("token", Uuid, nullable=False),
    moment("expires_at", nullable=False),
    # Whose attempt it is.
    Column("process_id", BigInteger),
    PrimaryKeyConstraint("task_instance_id", "attempt"),
    comment="How long an attempt is its worker's since the last renewal, on the database's clock.",
    postgresql_with={"fillfactor": "60", **QUEUE_STORAGE},
)

Table(
    "spark_work",
    METADATA,
    Column("task_instance_id", BigInteger),
    Column("attempt", Integer),
    Column("progress", JSON),
    Column("figures", JSON),
    moment("updated_at", nullable=False),
    PrimaryKeyConstraint("task_instance_id", "attempt"),
    ForeignKeyConstraint(
        ["task_instance_id", "attempt"],
        ["task_attempt.task_instance_id", "task_attempt.attempt"],
        ondelete="CASCADE",
    ),
    comment="What an attempt does in Spark: how far it is, what it took. Written every second.",
    postgresql_with={"fillfactor": "60"},
)
