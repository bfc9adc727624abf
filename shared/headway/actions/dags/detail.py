"""Look at a DAG: its tasks as the version in force has them, and the runs to come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db.reads import dag_views
from headway.db.reads.dag_views import DagView
from headway.db.scheduling import dags
from headway.decide.scheduling.due import expected
from headway.decide.scheduling.due_plan import ScheduleRules
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.dag.spec import DagSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.errors import DagNotFoundError
from headway.timetables import registry
from headway.timetables.preview import Coming, coming
from headway.timetables.sequence import known, runs_between
from headway.timetables.wall_clock.zones import find_zone


@dataclass(frozen=True, slots=True)
class DagTaskView:
    """A task of a DAG as a version defines it; `upstream` are the tasks right above it."""

    task_id: str
    operator: str
    upstream: Sequence[str]
    trigger_rule: TriggerRule
    pool: str
    pool_slots: int
    queue: str
    retries: int


@dataclass(frozen=True, slots=True)
class DagDetail:
    """A DAG that a DAG file defines, as it stands and as its version in force has it.

    `schedule` says in a few words when the DAG runs, in its time zone.  `catchup` is what happens
    to missed runs, `overlap` what to runs that overlap; None: they wait for each other.
    `parse_secrets` are the connections and variables that its file reads while it is parsed.
    """

    dag: DagView
    schedule: str
    timezone: str
    catchup: Catchup
    overlap: Overlap | None
    tasks: Sequence[DagTaskView]
    parse_secrets: Sequence[str]


@dataclass(frozen=True, slots=True)
class UpcomingRuns:
    """The next runs of a DAG's schedule, and the remarks of its timetable on what it leaves out."""

    runs: Sequence[Coming]
    timezone: str
    remarks: Sequence[str]


def dag_detail(conn: Connection, dag_id: str) -> DagDetail:
    """Return all that is shown of a DAG; NotFoundError, naming the nearest, without it."""
    spec = current_dag(conn, dag_id).spec
    dag = dag_views.dag(conn, dag_id)
    if dag is None:
        raise DagNotFoundError(f"DAG {dag_id} was deleted just now.")
    schedule = registry.decode(spec.timetable).summary
    return DagDetail(
        dag=dag,
        schedule=schedule,
        timezone=spec.timezone,
        catchup=spec.missed,
        overlap=spec.overlap,
        tasks=dag_tasks(spec),
        parse_secrets=spec.parse_secrets,
    )


def dag_tasks(spec: DagSpec) -> list[DagTaskView]:
    """Return what is shown of the tasks of a DAG, in topological order."""
    return [
        DagTaskView(
            task.task_id,
            task.operator,
            list(task.upstream),
            task.trigger_rule,
            task.pool,
            task.pool_slots,
            task.queue,
            task.retries,
        )
        for task in spec.tasks
    ]


def upcoming_runs(
    conn: Connection, dag_id: str, now: datetime, most: int, *, before: datetime | None = None
) -> UpcomingRuns:
    """Return up to so many runs that the schedule of a DAG has next, due or to come.

    With `before`, only those that fall due before that.  A paused DAG's are those that it would
    have if it were unpaused now.
    """
    spec = current_dag(conn, dag_id).spec
    standing = dags.schedule_state(conn, dag_id, now)
    timetable, zone = registry.decode(spec.timetable), find_zone(spec.timezone)
    runs = expected(timetable, standing, ScheduleRules.of(spec), now, most)
    near = takewhile(lambda run: before is None or run.run_after < before, runs)
    found = list(coming(islice(near, most), zone, standing.last))
    return UpcomingRuns(found, spec.timezone, timetable.remarks)


def runs_between_dates(
    conn: Connection, dag_id: str, dates: tuple[datetime, datetime], most: int
) -> UpcomingRuns:
    """Return up to so many runs of a DAG's schedule whose intervals start between two dates.

    They are within the dates of the DAG, and may be over or not, and have a run or not.
    """
    spec = current_dag(conn, dag_id).spec
    timetable, zone = registry.decode(spec.timetable), find_zone(spec.timezone)
    first = max(filter(None, (dates[0], spec.start_date)))
    last = min(filter(None, (dates[1], spec.end_date)))
    found: list[Coming] = []
    if first <= last:
        runs = known(timetable, runs_between(timetable, spec.start_date, first, last))
        found = list(coming(islice(runs, most), zone))
    return UpcomingRuns(found, spec.timezone, timetable.remarks)
