"""What runs: DAG runs and their task instances."""

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
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ExcludeConstraint

from headway.db.schema.columns import METADATA, QUEUE_STORAGE, identity, moment, one_of
from headway.domain.states import TERMINAL, RunState, RunType, TaskState

Table(
    "dag_run",
    METADATA,
    identity(),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("run_id", Text, nullable=False),
    Column("run_type", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'queued'")),
    Column("schedule_date", DateTime(timezone=True), nullable=False),
    Column("interval_start", DateTime(timezone=True), nullable=False),
    Column("interval_end", DateTime(timezone=True), nullable=False),
    Column("run_after", DateTime(timezone=True), nullable=False),
    Column("conf", JSON, nullable=False, server_default=text("'{}'")),
    Column("version_id", BigInteger, nullable=False),
    Column("backfill_id", BigInteger),
    # Runs of a timetable whose intervals partition time also exclude each other by interval.
    Column("partitions", Boolean, nullable=False, server_default=text("false")),
    # The job that has reserved the run; any job may take it when this is NULL.
    Column("lock_id", BigInteger),
    # Task instances that have not ended, counted down by whoever settles the run; while it is
    # NULL nothing is counted, and the run is looked at as a whole each time.
    Column("unfinished", Integer),
    # The state to end in once no task is live, whatever the tasks say.
    Column("end_as", Text),
    # Whether that was decided for its time being over, and not by a user.
    Column("timed_out", Boolean, nullable=False, server_default=text("false")),
    # Whether the version is the one that the run will have.  One that is not pinned waits, when
    # it is to start, for its DAG file to be parsed; since then it has been asked for.
    Column("pinned", Boolean, nullable=False, server_default=text("true")),
    moment("parse_requested_at"),
    moment("deadline"),
    moment("created_at", now=True),
    moment("started_at"),
    moment("ended_at"),
    UniqueConstraint("dag_id", "run_id"),
    ForeignKeyConstraint(
        ["dag_id", "version_id"],
        ["dag_version.dag_id", "dag_version.id"],
        name="dag_run_version_fkey",
    ),
    ForeignKeyConstraint(
        ["dag_id", "backfill_id"],
        ["backfill.dag_id", "backfill.id"],
        name="dag_run_backfill_fkey",
    ),
    CheckConstraint("end_as IN ('success', 'failed')", name="end_as_check"),
    CheckConstraint(one_of("state", RunState), name="state_check"),
    CheckConstraint(one_of("run_type", RunType), name="run_type_check"),
    CheckConstraint("interval_start <= interval_end", name="interval_check"),
    # A run of the schedule that runs again in a backfill is in the backfill's run queue.
    CheckConstraint("run_type <> 'backfill' OR backfill_id IS NOT NULL", name="backfill_check"),
    CheckConstraint("(state = 'queued') = (started_at IS NULL)", name="started_check"),
    CheckConstraint(
        "(state IN ('success', 'failed')) = (ended_at IS NOT NULL)", name="ended_check"
    ),
    # I4: an interval is created once, whoever creates it.  Another schedule may give a date to
    # another interval.
    Index(
        "dag_run_one_automated",
        "dag_id",
        "interval_end",
        "schedule_date",
        "interval_start",
        unique=True,
        postgresql_where=text("run_type <> 'manual'"),
    ),
    Index("dag_run_schedule", "dag_id", "schedule_date", "id"),
    Index(
        "dag_run_queued",
        "dag_id",
        "backfill_id",
        "run_after",
        "id",
        postgresql_where=text("state = 'queued'"),
    ),
    Index("dag_run_running", "dag_id", "backfill_id", postgresql_where=text("state = 'running'")),
    Index(
        "dag_run_deadline",
        "deadline",
        postgresql_where=text("state = 'running' AND deadline IS NOT NULL"),
    ),
    Index(
        "dag_run_to_pin",
        "dag_id",
        postgresql_where=text("state = 'queued' AND NOT pinned AND parse_requested_at IS NOT NULL"),
    ),
    Index("dag_run_version", "version_id"),
    Index("dag_run_ended", "ended_at", "id", postgresql_where=text("ended_at IS NOT NULL")),
    # The lists of all DAGs' runs.
    Index("dag_run_after", "run_after", "id"),
    Index("dag_run_started", "started_at", "id", postgresql_where=text("started_at IS NOT NULL")),
    Index("dag_run_locked", "lock_id", postgresql_where=text("lock_id IS NOT NULL")),
    Index("dag_run_backfill", "backfill_id", postgresql_where=text("backfill_id IS NOT NULL")),
    # The hash comes first because GiST finds a number's place in a page in less time than a text's:
    # with 20,000 DAGs an insert takes a third of the time. The id itself decides.
    ExcludeConstraint(
        (text("hashtextextended(dag_id, 0)"), "="),
        ("dag_id", "="),
        (text("tstzrange(interval_start, interval_end)"), "&&"),
        using="gist",
        where=text("partitions"),
        name="dag_run_intervals_apart",
    ),
    # Room for the count of unfinished tasks to change in place.
    postgresql_with={"fillfactor": "70"},
)

Table(
    "task_instance",
    METADATA,
    identity(),
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
    # The queue position: the second it was scheduled, earlier by its priority's worth.
    Column("rank", Double, nullable=False, server_default=text("0")),
    # 0 (live): the run is of no backfill.  1 (backfill).  2 (idle slots only): its backfill uses
    # idle slots only.  All tasks of a higher class stand behind those of a lower class.
    Column("priority_class", SmallInteger, nullable=False, server_default=text("0")),
    # Whether a limit narrower than its pool's and its DAG's applies, or it is of a backfill.
    Column("limited", Boolean, nullable=False, server_default=text("false")),
    # How the upstream task instances stand, while this one is undecided.
    *(
        Column(f"up_{how}", Integer, nullable=False, server_default=text("0"))
        for how in ("total", "success", "failed", "upstream_failed", "skipped", "removed")
    ),
    Column("skips", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    moment("retry_at"),
    # When its dependencies were met, the last time.
    moment("scheduled_at"),
    moment("started_at"),
    moment("ended_at"),
    # Who has claimed it, the last time.
    Column("process_id", BigInteger),
    # What it is called, where its task has a template for that.
    Column("rendered_map_index", String(250)),
    # In this order, so that the unmapped tasks of a run lie together.
    UniqueConstraint("dag_run_id", "map_index", "task_id"),
    CheckConstraint(one_of("state", TaskState), name="state_check"),
    CheckConstraint("(state = 'up_for_retry') = (retry_at IS NOT NULL)", name="retry_check"),
    Index(
        "task_instance_scheduled",
        "pool",
        "dag_id",
        "rank",
        "id",
        postgresql_where=text("state = 'scheduled' AND NOT limited"),
    ),
    Index(
        "task_instance_queue_order",
        "pool",
        "queue",
        "rank",
        "id",
        postgresql_where=text("state = 'scheduled' AND NOT limited"),
    ),
    Index(
        "task_instance_limited",
        "pool",
        "dag_id",
        "dag_run_id",
        "task_id",
        "rank",
        "id",
        postgresql_where=text("state = 'scheduled' AND limited"),
    ),
    Index(
        "task_instance_large",
        "pool",
        "priority_class",
        "pool_slots",
        postgresql_where=text("state = 'scheduled' AND pool_slots > 1"),
    ),
    Index(
        "task_instance_deferred",
        "pool",
        postgresql_where=text("state = 'deferred'"),
    ),
    Index("task_instance_retry", "retry_at", postgresql_where=text("state = 'up_for_retry'")),
)

Table(
    "wake",
    METADATA,
    Column("dag_run_id", BigInteger, nullable=False),
    Column("task_id", Text),
    Column("state", Text),
    Column("skips", ARRAY(Text)),
    # The instance that has ended, where a worker tells of it.
    Column("task_instance_id", BigInteger),
    CheckConstraint("(task_id IS NULL) = (state IS NULL)", name="fact_check"),
    CheckConstraint(one_of("state", sorted(TERMINAL)), name="state_check"),
    Index(None, "dag_run_id"),
    comment="Facts for the scheduler to settle: an instance of the task ended in that state, "
    "or, without a task, the run is to be looked at as a whole.",
    postgresql_with=QUEUE_STORAGE,
)

Table(
    "pool",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("slots", Integer, nullable=False),
    Column("description", Text, nullable=False, server_default=text("''")),
    Column("include_deferred", Boolean, nullable=False, server_default=text("false")),
    CheckConstraint("slots >= 0", name="slots_check"),
)

Table(
    "xcom",
    METADATA,
    Column("task_instance_id", ForeignKey("task_instance.id", ondelete="CASCADE")),
    Column("attempt", Integer),
    Column("key", Text),
    Column("value", JSON, nullable=False),
    # Elements of a list, entries of a dictionary: what a mapped task may be expanded over.
    Column("length", Integer),
    PrimaryKeyConstraint("task_instance_id", "attempt", "key"),
)
