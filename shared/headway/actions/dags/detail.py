"""Look at a DAG: its tasks as the version in force has them, and the runs to come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db.reads import dag_views
from headway.db.reads.dag_views import DagView
from headway.db.scheduling import dags
from headway.decide.scheduling.due import expected
from headway.decide.scheduling.due_plan import ScheduleRules
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.errors import DagNotFoundError
from headway.timetables import registry
from headway.timetables.preview import Coming, coming
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
    """

    dag: DagView
    schedule: str
    timezone: str
    catchup: Catchup
    overlap: Overlap | None
    tasks: Sequence[DagTaskView]


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
    tasks = [
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
    schedule = registry.decode(spec.timetable).summary
    return DagDetail(dag, schedule, spec.timezone, spec.missed, spec.overlap, tasks)


def upcoming_runs(conn: Connection, dag_id: str, now: datetime, most: int) -> UpcomingRuns:
    """Return up to so many runs that the schedule of a DAG has next, due or to come.

    A paused DAG's are those that it would have if it were unpaused now.
    """
    spec = current_dag(conn, dag_id).spec
    standing = dags.schedule_state(conn, dag_id, now)
    timetable, zone = registry.decode(spec.timetable), find_zone(spec.timezone)
    runs = expected(timetable, standing, ScheduleRules.of(spec), now, most)
    found = list(coming(islice(runs, most), zone, standing.last))
    return UpcomingRuns(found, spec.timezone, timetable.remarks)
