"""Create a backfill: runs over a range of past intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db import backfills, events, runs
from headway.db.events import Event
from headway.decide.backfill import plan_backfill
from headway.domain.arguments import JsonValue
from headway.domain.errors import ConflictError, DagError
from headway.domain.states import RunType
from headway.timetables import registry


@dataclass(frozen=True, slots=True)
class BackfillRequest:
    """A range of interval starts, both ends included, and how many runs may be active in it."""

    dag_id: str
    from_date: datetime
    to_date: datetime
    conf: Mapping[str, JsonValue]
    max_active_runs: int | None = None


@dataclass(frozen=True, slots=True)
class CreatedBackfill:
    """A backfill that was created, and how many intervals it leaves alone."""

    id: int
    created: int
    existing: int


def create_backfill(
    conn: Connection, request: BackfillRequest, now: datetime, actor: str
) -> CreatedBackfill:
    """Create the backfill with its runs.  An interval that has a run already is left alone.

    ConflictError when none is left to run.
    """
    dag = current_dag(conn, request.dag_id)
    infos = plan_backfill(dag.spec, request.from_date, request.to_date, now)
    most = request.max_active_runs
    if most is None:
        most = dag.spec.max_active_runs
    if most < 1:
        raise DagError(f"A backfill needs at least 1 active run at a time, not {most}.")
    backfill_id = backfills.create(conn, request.dag_id, request.from_date, request.to_date, most)
    new = runs.NewRuns(
        request.dag_id,
        RunType.BACKFILL,
        dag.version_id,
        infos,
        request.conf,
        backfill_id,
        partitions=registry.decode(dag.spec.timetable).partitions,
    )
    created = runs.create(conn, new)
    if not created:
        raise ConflictError(
            f"All {len(infos)} intervals of that range have a run already; "
            f"`headway runs list {request.dag_id}` shows them."
        )
    backfills.set_planned(conn, backfill_id, len(created))
    details: dict[str, JsonValue] = {"backfill": backfill_id, "runs": len(created)}
    events.add(
        conn,
        Event(actor=actor, action="backfill.create", dag_id=request.dag_id, details=details),
    )
    return CreatedBackfill(backfill_id, len(created), len(infos) - len(created))
