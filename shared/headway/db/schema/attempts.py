"""How tasks run: attempts and the leases on them."""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from headway.db.schema.columns import METADATA, moment, one_of
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
    Column("priority", Integer, nullable=False),
    Column("token", Uuid),
    Column("process_id", BigInteger, ForeignKey("process.id")),
    Column("queued_at", DateTime(timezone=True), nullable=False),
    moment("started_at"),
    moment("ended_at"),
    Column("outcome", Text),
    Column("error", Text),
    Column("handle", JSON),
    PrimaryKeyConstraint("task_instance_id", "attempt"),
    CheckConstraint("attempt > 0", name="attempt_check"),
    CheckConstraint(one_of("phase", Phase), name="phase_check"),
    CheckConstraint(one_of("outcome", Outcome), name="outcome_check"),
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
    moment("expires_at", nullable=False),
    PrimaryKeyConstraint("task_instance_id", "attempt"),
    comment="How long a running attempt is its worker's, on the clock of the database.",
    postgresql_with={"fillfactor": "60"},
)
