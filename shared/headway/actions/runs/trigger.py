"""Trigger a DAG: create one manual run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db.changes import run_changes
from headway.db.core import events, run_deadlines
from headway.db.core.events import Event
from headway.db.scheduling import runs
from headway.domain.arguments import JsonValue
from headway.domain.dag.names import check_run_id
from headway.domain.dag.params import check_conf
from headway.domain.errors import AlreadyExistsError, ConflictError
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.timetables import registry
from headway.timetables.base import DagRunInfo, Timetable
from headway.timetables.kinds.simple import NullTimetable

AUTOMATED: Final = tuple(f"{kind}__" for kind in RunType if kind is not RunType.MANUAL)
"""How the ids of other runs begin: one taken by hand would keep its run from being created."""


@dataclass(frozen=True, slots=True)
class TriggerRequest:
    """A run to create, as if at `logical_date`, which is the present moment by default.

    It is about `interval`, of any length, or about what was complete at its date.  One whose
    date is to come waits for it, unless `in_future` allows that of DAGs without a schedule.
    The journal tells the `reason`, if there is one, and which task has asked, if one has.
    """

    dag_id: str
    conf: Mapping[str, JsonValue] = field(default_factory=dict)
    run_id: str | None = None
    logical_date: datetime | None = None
    in_future: bool = False
    interval: DataInterval | None = None
    reason: str | None = None
    by_task: Mapping[str, JsonValue] = field(default_factory=dict)


def trigger(conn: Connection, request: TriggerRequest, now: datetime, actor: str) -> str:
    """Create a manual run about its own interval, or the last that was complete at its date.

    Return its run id.  NotFoundError without the DAG, RequestError when its params do not allow
    the conf, ConflictError when the id is taken or may belong to a run of the schedule.
    """
    run_id, timetable = create(conn, request, now, actor)
    if request.in_future and isinstance(timetable, NullTimetable):
        run_changes.bring_forward(conn, request.dag_id, run_id, now)
    return run_id


def create(
    conn: Connection, request: TriggerRequest, now: datetime, actor: str
) -> tuple[str, Timetable]:
    """Create a run as `trigger` does, that waits for its date; return the timetable as well."""
    dag_id = request.dag_id
    dag = current_dag(conn, dag_id)
    check_conf(dag.spec, request.conf)
    timetable = registry.decode(dag.spec.timetable)
    date = request.logical_date or now
    given = request.run_id
    name = check_run_id(f"manual__{date.isoformat()}" if given is None else given)
    if name.startswith(AUTOMATED):
        raise ConflictError(f"Only runs of a schedule are called like {name!r}; choose another id.")
    interval = request.interval or timetable.infer_manual_data_interval(date)
    info = DagRunInfo(date, interval)
    new = runs.NewRuns(dag_id, RunType.MANUAL, dag.version_id, [info], request.conf, named=[name])
    if not runs.create(conn, [new]):
        raise AlreadyExistsError(f"DAG {dag_id} has a run {name!r} already; choose another run id.")
    if dag.spec.has_deadlines():
        run_deadlines.enter_named(conn, [(dag_id, name)])
    details = _details(request)
    events.add(
        conn,
        Event(actor=actor, action="run.trigger", dag_id=dag_id, run_id=name, details=details),
    )
    return name, timetable


def _details(request: TriggerRequest) -> dict[str, JsonValue]:
    details: dict[str, JsonValue] = {"conf": dict(request.conf)}
    if request.logical_date is not None:
        details["logical_date"] = request.logical_date.isoformat()
    if request.interval is not None:
        ends = request.interval.start, request.interval.end
        details["interval"] = [end.isoformat() for end in ends]
    if request.reason is not None:
        details["reason"] = request.reason
    if request.by_task:
        details["by_task"] = dict(request.by_task)
    return details
