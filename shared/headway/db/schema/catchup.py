"""What a schedule has left out, and since when there is somebody to schedule."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from headway.db.schema.columns import METADATA, moment, one_of
from headway.domain.dag.catchup import SkipReason

Table(
    "skipped_interval",
    METADATA,
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    # When the last of them was due; where the first begins, and where the last begins and ends.
    Column("schedule_date", DateTime(timezone=True), nullable=False),
    Column("first_start", DateTime(timezone=True), nullable=False),
    Column("interval_start", DateTime(timezone=True), nullable=False),
    Column("interval_end", DateTime(timezone=True), nullable=False),
    Column("reason", Text, nullable=False),
    Column("dag_run_id", BigInteger, ForeignKey("dag_run.id", ondelete="CASCADE")),
    moment("at", now=True),
    PrimaryKeyConstraint("dag_id", "interval_end", "schedule_date", "interval_start"),
    CheckConstraint(one_of("reason", SkipReason), name="reason_check"),
    CheckConstraint("(reason = 'rollup') = (dag_run_id IS NOT NULL)", name="run_check"),
    Index("skipped_interval_run", "dag_run_id", postgresql_where=text("dag_run_id IS NOT NULL")),
    comment="Intervals of a schedule without a run of their own, and the run that covers them.",
)

Table(
    "scheduler_uptime",
    METADATA,
    Column("singleton", Boolean, primary_key=True, server_default=text("true")),
    moment("since", nullable=False),
    moment("seen_at", nullable=False),
    CheckConstraint("singleton", name="singleton_check"),
    comment="Since when there is a scheduler without a break, and when one was there last.",
)
