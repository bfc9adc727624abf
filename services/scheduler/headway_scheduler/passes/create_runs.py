"""The pass that creates the runs that have fallen due."""

import logging
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection, Engine

from headway.db import dags, processes, runs
from headway.db.processes import Identity
from headway.decide.due import Due, due
from headway.domain.errors import TimetableError
from headway.domain.spec import DagSpec
from headway.domain.states import RunType
from headway.runtime.seam import nothing
from headway.timetables import registry
from headway.timetables.base import TimeRestriction
from headway_scheduler.specs import Specs

log = logging.getLogger(__name__)


def create_runs(
    engine: Engine,
    me: Identity,
    specs: Specs,
    now: datetime,
    limit: int,
    before_commit: Callable[[], None] = nothing,
) -> int:
    """Create the runs that are due in up to `limit` DAGs; return how many DAGs were planned."""
    with engine.begin() as conn:
        processes.confirm(conn, me)
        due_dags = dags.lock_due(conn, now, limit, specs.unreadable)
        versions = specs.get(conn, (dag.version_id for dag in due_dags))
        due_dags = [dag for dag in due_dags if dag.version_id in versions]
        for dag in due_dags:
            plan = _plan(versions[dag.version_id], dag, now)
            _create(conn, dag, plan)
            dags.plan(conn, dag, plan.following)
        before_commit()
    return len(due_dags)


def _plan(spec: DagSpec, dag: dags.DueDag, now: datetime) -> Due:
    restriction = TimeRestriction(spec.start_date, spec.end_date, spec.catchup)
    try:
        timetable = registry.decode(spec.timetable)
        return due(timetable, dag.last, restriction, now, dag.room, dag.taken)
    except TimetableError:
        log.exception("DAG %s is not scheduled any more: its timetable fails", spec.dag_id)
        return Due([], None)


def _create(conn: Connection, dag: dags.DueDag, plan: Due) -> None:
    if plan.runs:
        new = runs.NewRuns(dag.dag_id, RunType.SCHEDULED, dag.version_id, plan.runs, {})
        for run_id in runs.create(conn, new):
            log.info("action=create_run dag=%s run=%s", dag.dag_id, run_id)
