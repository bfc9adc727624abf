"""Backfills, and what they plan for each date."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from headway.db.schema.columns import METADATA, identity, moment, one_of
from headway.domain.backfill import DateDecision, Direction, Reprocess

Table(
    "backfill",
    METADATA,
    identity(),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("from_date", DateTime(timezone=True), nullable=False),
    Column("to_date", DateTime(timezone=True), nullable=False),
    Column("max_active_runs", Integer, nullable=False),
    # How many runs it has: those that it has created, and those that run again in it.
    Column("planned", Integer, nullable=False),
    Column("reprocess", Text, nullable=False, server_default=text("'none'")),
    Column("direction", Text, nullable=False, server_default=text("'forward'")),
    Column("rollup", Integer, nullable=False, server_default=text("1")),
    # The percentage of each pool's slots that its tasks may hold.
    Column("weight", Integer, nullable=False, server_default=text("100")),
    Column("idle_only", Boolean, nullable=False, server_default=text("false")),
    # The priority class of its tasks.
    Column(
        "priority_class", SmallInteger, Computed("1 + CAST(idle_only AS integer)", persisted=True)
    ),
    Column("paused", Boolean, nullable=False, server_default=text("false")),
    moment("cancelled_at"),
    moment("created_at", now=True),
    CheckConstraint("max_active_runs > 0", name="max_active_runs_check"),
    CheckConstraint(one_of("reprocess", Reprocess), name="reprocess_check"),
    CheckConstraint(one_of("direction", Direction), name="direction_check"),
    CheckConstraint("rollup > 0", name="rollup_check"),
    CheckConstraint("weight BETWEEN 1 AND 100", name="weight_check"),
    # A foreign key to a backfill names the DAG as well: the backfill is of that DAG.
    UniqueConstraint("dag_id", "id"),
)

Table(
    "backfill_date",
    METADATA,
    Column("backfill_id", BigInteger, ForeignKey("backfill.id", ondelete="CASCADE")),
    Column("position", Integer),
    Column("schedule_date", DateTime(timezone=True), nullable=False),
    Column("interval_start", DateTime(timezone=True), nullable=False),
    Column("interval_end", DateTime(timezone=True), nullable=False),
    Column("decision", Text, nullable=False),
    Column("reason", Text, nullable=False),
    # What the run is called that the date has, or is in its way: another one may be, later.
    Column("run_id", Text),
    Column("dag_run_id", BigInteger, ForeignKey("dag_run.id", ondelete="SET NULL")),
    CheckConstraint(one_of("decision", DateDecision), name="decision_check"),
    PrimaryKeyConstraint("backfill_id", "position"),
    Index("backfill_date_run", "dag_run_id", postgresql_where=text("dag_run_id IS NOT NULL")),
    Index(
        "backfill_date_created",
        "backfill_id",
        "schedule_date",
        postgresql_where=text("decision = 'create'"),
    ),
    comment="The plan of each backfill: what becomes of every date, and in which run.",
)
