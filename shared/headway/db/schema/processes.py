"""Who runs, and what was done: service processes and the journal of events."""

from sqlalchemy import (
    ARRAY,
    JSON,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)

from headway.db.schema.columns import METADATA, identity, moment

Table(
    "process",
    METADATA,
    identity(),
    Column("kind", Text, nullable=False),
    Column("hostname", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column("epoch", Integer, nullable=False, server_default=text("1")),
    Column("queues", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("slots", Integer, nullable=False, server_default=text("0")),
    # Of a parser, the bundles that it looks at.
    Column("bundles", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    # Of a worker, where the API can ask it for logs: host:port; None where it has no such port.
    Column("http_address", Text),
    # Of a worker, when a user requested that it takes no more, finishes what it has, and ends.
    moment("drain_requested_at"),
    Column("exclusive", Boolean, nullable=False, server_default=text("false")),
    # The hash of what the process alone knows.
    Column("proof_hash", LargeBinary),
    moment("started_at", now=True),
    moment("ended_at"),
    Index(None, "kind", postgresql_where=text("ended_at IS NULL")),
    comment="One row per service process; its epoch fences it.",
)

Table(
    "process_beat",
    METADATA,
    Column("process_id", ForeignKey("process.id", ondelete="CASCADE"), primary_key=True),
    moment("beat_at", now=True),
    # By how many seconds its clock was ahead of the database's.
    Column("clock_skew", Double),
    # Of a worker, what its machine has left.
    Column("report", JSON),
    comment="Heartbeats, apart from the rows that they must not bloat or lock.",
    postgresql_with={"fillfactor": "50"},
)

Table(
    "event",
    METADATA,
    identity(),
    moment("at", now=True),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("dag_id", Text),
    Column("run_id", Text),
    Column("task_id", Text),
    Column("details", JSON, nullable=False, server_default=text("'{}'")),
    comment="Append-only: who changed what, and why.",
)
