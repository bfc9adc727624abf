"""Deadlines: those that versions have, and those of each run."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Table,
    Text,
    text,
)

from headway.db.schema.columns import METADATA, identity, moment, one_of
from headway.domain.dag.deadline import DeadlineMoment
from headway.domain.states import DeadlineState

Table(
    "dag_deadline",
    METADATA,
    Column("version_id", ForeignKey("dag_version.id", ondelete="CASCADE"), nullable=False),
    # NULL for a deadline of the run as a whole.
    Column("task_id", Text),
    Column("name", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("at", DateTime(timezone=True)),
    Column("backfills", Boolean, nullable=False),
    CheckConstraint(one_of("reference", DeadlineMoment), name="reference_check"),
    CheckConstraint("(reference = 'fixed') = (at IS NOT NULL)", name="at_check"),
    Index(
        "dag_deadline_one",
        "version_id",
        text("coalesce(task_id, '')"),
        "name",
        unique=True,
    ),
    comment="The deadlines of a version: of its runs, or of a task in each of them.",
)

Table(
    "deadline",
    METADATA,
    identity(),
    Column("dag_run_id", ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    Column("task_id", Text),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'open'")),
    # NULL as long as it is open and is counted from the start of the run, which a clear moves.
    moment("due_at"),
    # When a scheduler is to look at it next.
    moment("check_at", nullable=False),
    # When it was judged, and by which scheduler.
    moment("judged_at"),
    Column("process_id", BigInteger),
    CheckConstraint(one_of("state", DeadlineState), name="state_check"),
    CheckConstraint("(state = 'open') = (judged_at IS NULL)", name="judged_check"),
    CheckConstraint("state <> 'missed' OR due_at IS NOT NULL", name="missed_check"),
    # Each is recorded once, whoever enters it and however often.
    Index("deadline_one", "dag_run_id", text("coalesce(task_id, '')"), "name", unique=True),
    Index("deadline_open", "check_at", "id", postgresql_where=text("state = 'open'")),
    comment="One row per deadline of a run; schedulers judge it when it is over.",
)
