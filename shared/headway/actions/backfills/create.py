"""Create a backfill: a plan over past intervals, and the runs that it consists of."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from json import dumps

from sqlalchemy import Connection

from headway.actions.backfills.again import leave_unreadable, lock_again, run_again
from headway.actions.change import Author
from headway.actions.lookup import CurrentDag, current_dag
from headway.actions.runs.version_choice import LATEST, OWN
from headway.db.core import events, run_deadlines
from headway.db.core.events import Event
from headway.db.scheduling import runs
from headway.db.users import backfill_plans, backfills
from headway.db.users.backfill_plans import NewBackfill
from headway.decide.changes.backfill import (
    AS_IT_COMES,
    PlannedDate,
    Way,
    judge,
    places,
    runs_again,
    runs_to_create,
)
from headway.decide.changes.backfill_dates import MOST_RUNS, apart, plan_backfill, plan_dates
from headway.decide.scheduling.graph import DagGraph
from headway.domain.arguments import JsonValue
from headway.domain.backfill import DateDecision, Direction
from headway.domain.dag.params import check_conf
from headway.domain.errors import ConflictError, RequestError
from headway.domain.hints import Parameter, hint
from headway.domain.states import RunType
from headway.timetables import registry
from headway.timetables.base import DagRunInfo

MOST_WEIGHT = 100
"""The weight with which a backfill may take all slots of a pool."""


@dataclass(frozen=True, slots=True)
class BackfillRequest:
    """A range of interval starts, both ends included, or `dates`, and how they are to run.

    `max_active_runs` is the DAG's by default, `conf` that of new runs and, unless it is
    empty, of runs that run again; these have their own `version`, or the latest.
    """

    dag_id: str
    from_date: datetime | None
    to_date: datetime | None
    conf: Mapping[str, JsonValue]
    max_active_runs: int | None = None
    dates: Sequence[datetime] = ()
    way: Way = AS_IT_COMES
    weight: int = MOST_WEIGHT
    idle_only: bool = False
    version: str = OWN


@dataclass(frozen=True, slots=True)
class CreatedBackfill:
    """A backfill that was created: how many new runs, how many dates that have `existing` ones.

    These are left alone, as those in `conflicts` with a run are; `rerun` runs run again.  So
    many dates that have a run in it are `early`: before the start date of the DAG.  New runs have
    the `version` of that number.
    """

    id: int
    created: int
    existing: int
    rerun: int = 0
    conflicts: int = 0
    early: int = 0
    version: int = field(kw_only=True)


def plan(conn: Connection, request: BackfillRequest, now: datetime) -> list[PlannedDate]:
    """Return what would become of each date; nothing is changed.

    RequestError when the request asks for what cannot be.
    """
    dag = current_dag(conn, request.dag_id)
    _most(request, dag)
    return _plan(conn, request, dag, now)


def create_backfill(
    conn: Connection,
    request: BackfillRequest,
    now: datetime,
    actor: str,
    reason: str | None = None,
    agree: Callable[[Sequence[PlannedDate]], object] = len,
) -> CreatedBackfill:
    """Create the backfill with its runs, and have others run again, as the plan has it.

    `agree` is given the plan while the DAG is locked, and may refuse it by an error.
    ConflictError when nothing is to be run.
    """
    backfill_plans.lock_dag(conn, request.dag_id)
    dag = current_dag(conn, request.dag_id)
    most = _most(request, dag)
    dates = _plan(conn, request, dag, now)
    agree(dates)
    new, again = runs_to_create(dates), runs_again(dates)
    if not new and not again:
        raise _nothing_to_run(len(dates))
    locked = lock_again(conn, again)
    backfill_id = backfill_plans.create(conn, _entered(request, dates, most))
    _tell(conn, request.dag_id, backfill_id, len(new) + len(again), Author(actor, reason))
    when = places(dates)
    names = _create(conn, request, dag, backfill_id, new, when)
    if again:
        author = Author(actor, f"backfill {backfill_id}")
        run_again(conn, locked, request.version, dag.version_id, author)
        conf = dumps(dict(request.conf)) if request.conf else None
        starts = {run.id: when[run.schedule_date] for run in again}
        backfill_plans.take(conn, backfill_id, starts, conf)
        backfills.wake_running(conn, request.dag_id)
    backfills.set_planned(conn, backfill_id, len(new) + len(again))
    backfill_plans.store(conn, backfill_id, dates, [_run_id(date, names) for date in dates])
    return _created(backfill_id, dates, dag)


def _created(backfill_id: int, dates: Sequence[PlannedDate], dag: CurrentDag) -> CreatedBackfill:
    decisions = Counter(date.decision for date in dates)
    return CreatedBackfill(
        backfill_id,
        created=len(runs_to_create(dates)),
        existing=decisions[DateDecision.SKIP],
        rerun=len(runs_again(dates)),
        conflicts=decisions[DateDecision.CONFLICT],
        early=sum(_is_early(date, dag) for date in dates),
        version=dag.number,
    )


def _nothing_to_run(dates: int) -> ConflictError:
    return ConflictError(
        f"All {dates} intervals have a run already.",
        hint=hint(
            *(Parameter("dry_run"), " shows which, "),
            *(Parameter("reprocess"), " runs again what has ended."),
        ),
    )


def _is_early(date: PlannedDate, dag: CurrentDag) -> bool:
    """Whether the date has a run in the backfill, and the schedule none, for it began later."""
    first = dag.spec.start_date
    runs = date.decision in {DateDecision.CREATE, DateDecision.RERUN}
    return runs and first is not None and date.info.data_interval.start < first


def _tell(conn: Connection, dag_id: str, backfill_id: int, runs: int, author: Author) -> None:
    details: dict[str, JsonValue] = {"backfill": backfill_id, "runs": runs}
    if author.reason is not None:
        details["reason"] = author.reason
    action = "backfill.create"
    events.add(conn, Event(actor=author.actor, action=action, dag_id=dag_id, details=details))


def _plan(
    conn: Connection, request: BackfillRequest, dag: CurrentDag, now: datetime
) -> list[PlannedDate]:
    if request.way.direction is Direction.BACKWARD and DagGraph(dag.spec).holds_back:
        raise RequestError(
            f"Tasks of DAG {request.dag_id} depend on the run before (depends_on_past): "
            "backfill it forward."
        )
    if request.version not in {OWN, LATEST}:
        raise RequestError(
            f"Say {OWN} or {LATEST}, not version {request.version!r}, of a backfill."
        )
    if request.dates and (request.from_date or request.to_date):
        raise RequestError("Say either a range or single dates, not both.")
    separate: set[DagRunInfo] = set()
    if request.dates:
        infos = plan_dates(dag.spec, request.dates, now)
        separate = apart(dag.spec, infos, now)
    elif request.from_date is not None and request.to_date is not None:
        infos = plan_backfill(dag.spec, request.from_date, request.to_date, now)
    else:
        raise RequestError(
            "A backfill needs a range, or single dates.",
            hint=hint(
                *("Give ", Parameter("from_date"), " and ", Parameter("to_date"), ", or "),
                *(Parameter("dates"), "."),
            ),
        )
    check_conf(dag.spec, request.conf)
    there = backfill_plans.existing(conn, request.dag_id, infos)
    return leave_unreadable(conn, judge(infos, there, request.way, separate))


def _most(request: BackfillRequest, dag: CurrentDag) -> int:
    """Return how many runs may be active at a time; RequestError for a limit that cannot be."""
    most = request.max_active_runs
    if most is None:
        most = min(dag.spec.max_active_runs, MOST_RUNS)
    if not 1 <= most <= MOST_RUNS:
        raise RequestError(
            f"A backfill needs at least 1 active run at a time, not {most}, and {MOST_RUNS:,} at "
            "most."
        )
    if not 1 <= request.weight <= MOST_WEIGHT:
        raise RequestError(f"A weight is a percentage of slots, 1 to 100, not {request.weight}.")
    return most


def _entered(request: BackfillRequest, dates: Sequence[PlannedDate], most: int) -> NewBackfill:
    starts = [date.info.data_interval.start for date in dates]
    return NewBackfill(
        request.dag_id,
        request.from_date or min(starts),
        request.to_date or max(starts),
        most,
        request.way,
        request.weight,
        request.idle_only,
    )


def _create(
    conn: Connection,
    request: BackfillRequest,
    dag: CurrentDag,
    backfill_id: int,
    infos: Sequence[DagRunInfo],
    when: Mapping[datetime, datetime],
) -> dict[DagRunInfo, str]:
    """Create the new runs; return what they are called."""
    new = runs.NewRuns(
        request.dag_id,
        RunType.BACKFILL,
        dag.version_id,
        infos,
        request.conf,
        backfill_id,
        partitions=registry.decode(dag.spec.timetable).partitions,
        places=when,
    )
    names = dict(zip(infos, new.run_ids(), strict=True))
    created = {run_id for _, run_id in runs.create(conn, [new])} if infos else set()
    if dag.spec.has_deadlines(backfill=True):
        run_deadlines.enter_named(conn, [(request.dag_id, run_id) for run_id in created])
    others = set(names.values()) - created
    if others:
        raise ConflictError(
            f"DAG {request.dag_id} has a run {min(others)!r} about another interval; "
            "delete that, or leave its date out."
        )
    return names


def _run_id(date: PlannedDate, names: Mapping[DagRunInfo, str]) -> str | None:
    if date.created is not None:
        return names[date.created]
    return date.existing.run_id if date.existing else None
