"""Notifications: messages about what has happened, and the events that each is about."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from headway.db.schema.columns import METADATA, identity, moment, one_of
from headway.domain.dag.notifiers import NotifyEvent
from headway.domain.states import CallbackState

Table(
    "notifier",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("definition", JSON, nullable=False),
    comment="Notifiers by content, each stored once.",
)

Table(
    "dag_notifier",
    METADATA,
    Column("version_id", ForeignKey("dag_version.id", ondelete="CASCADE"), nullable=False),
    # '' for those of the run as a whole.
    Column("task_id", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("notifier", ForeignKey("notifier.hash"), nullable=False),
    PrimaryKeyConstraint("version_id", "task_id", "event", "notifier"),
    CheckConstraint(one_of("event", NotifyEvent), name="event_check"),
    comment="Which notifiers of a version tell of what.",
)

Table(
    "notification",
    METADATA,
    identity(),
    # What receivers are told to know it again by, however often it is sent.
    Column("key", Uuid, nullable=False, server_default=text("gen_random_uuid()")),
    Column("dag_run_id", ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    Column("notifier", ForeignKey("notifier.hash"), nullable=False),
    Column("event", Text, nullable=False),
    # Whether further events of the run still join it: until a worker has taken it.
    Column("collecting", Boolean, nullable=False, server_default=text("true")),
    Column("state", Text, nullable=False, server_default=text("'queued'")),
    Column("tries", Integer, nullable=False, server_default=text("0")),
    moment("due_at", nullable=False),
    Column("token", Uuid),
    Column("process_id", BigInteger),
    moment("claimed_until"),
    moment("created_at", now=True),
    moment("started_at"),
    moment("ended_at"),
    Column("error", Text),
    CheckConstraint(one_of("event", NotifyEvent), name="event_check"),
    CheckConstraint(one_of("state", CallbackState), name="state_check"),
    CheckConstraint("state = 'queued' OR NOT collecting", name="collecting_check"),
    CheckConstraint(
        "(state = 'running') = (token IS NOT NULL AND process_id IS NOT NULL "
        "AND claimed_until IS NOT NULL AND ended_at IS NULL)",
        name="claimed_check",
    ),
    CheckConstraint(
        "(state IN ('success', 'failed')) = (ended_at IS NOT NULL)", name="ended_check"
    ),
    Index("notification_unfinished", "due_at", "id", postgresql_where=text("ended_at IS NULL")),
    Index(
        "notification_collecting",
        "dag_run_id",
        "notifier",
        "event",
        unique=True,
        postgresql_where=text("collecting"),
    ),
    Index(None, "dag_run_id", "notifier", "event"),
    comment="One row per message; workers send them.",
)

Table(
    "notified_event",
    METADATA,
    identity(),
    Column("dag_run_id", ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    Column("notifier", ForeignKey("notifier.hash"), nullable=False),
    Column("event", Text, nullable=False),
    # The task whose attempt has ended, or whose deadline was missed; NULL for the run itself.
    Column("task_id", Text),
    Column("map_index", Integer),
    Column("attempt", Integer),
    # Why: the outcome, or the deadline; and the attempt's error.
    Column("reason", Text, nullable=False),
    Column("cause", Text),
    moment("created_at", now=True),
    # The message that tells of it, once it has one.
    Column("notification_id", ForeignKey("notification.id", ondelete="CASCADE")),
    CheckConstraint(one_of("event", NotifyEvent), name="event_check"),
    Index(None, "dag_run_id"),
    Index(None, "notification_id"),
    Index("notified_event_new", "id", postgresql_where=text("notification_id IS NULL")),
    comment="What notifiers tell of, entered with what has happened.",
)
