"""Callbacks: the calls of a DAG's own functions for what has happened to its tasks and runs."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from headway.db.schema.columns import METADATA, identity, moment, one_of
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.states import CallbackState

Table(
    "callback",
    METADATA,
    identity(),
    Column("dag_run_id", ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    # The attempt that has ended; all three are NULL for an event of the run itself.
    Column("task_id", Text),
    Column("map_index", Integer),
    Column("attempt", Integer),
    Column("event", Text, nullable=False),
    # Why: the outcome of the attempt, or what has ended the run; and the attempt's error.
    Column("reason", Text, nullable=False),
    Column("cause", Text),
    # Any worker may take it when this is NULL.
    Column("queue", Text),
    Column("state", Text, nullable=False, server_default=text("'queued'")),
    Column("tries", Integer, nullable=False, server_default=text("0")),
    Column("token", Uuid),
    Column("process_id", BigInteger),
    # The version whose functions are called since it was claimed.
    Column("version_id", BigInteger),
    moment("claimed_until"),
    moment("created_at", now=True),
    moment("started_at"),
    moment("ended_at"),
    Column("error", Text),
    # The end of an attempt is one event, whoever tells of it and however often.
    UniqueConstraint("dag_run_id", "task_id", "map_index", "attempt"),
    CheckConstraint(one_of("event", CallbackEvent), name="event_check"),
    CheckConstraint(one_of("state", CallbackState), name="state_check"),
    CheckConstraint(
        "(task_id IS NULL) = (map_index IS NULL) AND (task_id IS NULL) = (attempt IS NULL)",
        name="attempt_check",
    ),
    CheckConstraint(
        "(state = 'running') = (token IS NOT NULL AND process_id IS NOT NULL "
        "AND claimed_until IS NOT NULL AND ended_at IS NULL)",
        name="claimed_check",
    ),
    CheckConstraint(
        "(state IN ('success', 'failed')) = (ended_at IS NOT NULL)", name="ended_check"
    ),
    Index("callback_unfinished", "id", postgresql_where=text("ended_at IS NULL")),
    Index("callback_process", "process_id", postgresql_where=text("process_id IS NOT NULL")),
    comment="One row per event that a DAG has functions for; workers call them.",
)
