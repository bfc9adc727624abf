"""Trigger a DAG: create one manual run."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db import events, runs
from headway.db.events import Event
from headway.domain.arguments import JsonValue
from headway.domain.errors import ConflictError
from headway.domain.names import check_run_id
from headway.domain.states import RunType
from headway.timetables import registry
from headway.timetables.base import DagRunInfo

AUTOMATED: Final = tuple(f"{kind}__" for kind in RunType if kind is not RunType.MANUAL)
"""How the ids of other runs begin: one taken by hand would keep its run from being created."""


def trigger(
    conn: Connection,
    dag_id: str,
    now: datetime,
    actor: str,
    conf: Mapping[str, JsonValue],
    run_id: str | None = None,
) -> str:
    """Create a manual run that may start at once, about the last complete interval.

    Return its run id.  NotFoundError without the DAG, ConflictError when the id is taken or
    may belong to a run of the schedule.
    """
    dag = current_dag(conn, dag_id)
    interval = registry.decode(dag.spec.timetable).infer_manual_data_interval(now)
    name = check_run_id(run_id or f"manual__{now.isoformat()}")
    if name.startswith(AUTOMATED):
        raise ConflictError(f"Only runs of a schedule are called like {name!r}; choose another id.")
    new = runs.NewRuns(dag_id, RunType.MANUAL, dag.version_id, [DagRunInfo(now, interval)], conf)
    if not runs.create(conn, new, [name]):
        raise ConflictError(f"DAG {dag_id} has a run {name!r} already; choose another run id.")
    events.add(
        conn,
        Event(
            actor=actor,
            action="run.trigger",
            dag_id=dag_id,
            run_id=name,
            details={"conf": dict(conf)},
        ),
    )
    return name
