"""The pass that creates the runs that have fallen due."""

import logging
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Connection

from headway.db import dags, processes, runs
from headway.db.choice import Choice
from headway.decide.due import Due, due
from headway.domain.errors import TimetableError
from headway.domain.spec import DagSpec
from headway.domain.states import RunType
from headway.runtime.seam import nothing
from headway.timetables import registry
from headway.timetables.base import TimeRestriction
from headway_scheduler.replica import Replica

log = logging.getLogger(__name__)


def create_runs(
    replica: Replica, now: datetime, before_commit: Callable[[], None] = nothing
) -> int:
    """Create the runs that are due; return how many DAGs were planned."""
    specs, limit = replica.specs, replica.settings.max_dagruns_to_create_per_loop

    def create(choice: Choice[str], taken: list[str]) -> int:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me)
            due_dags = dags.lock_due(conn, now, limit, specs.unreadable, choice)
            taken += [dag.dag_id for dag in due_dags]
            graphs = specs.get(conn, (dag.version_id for dag in due_dags))
            due_dags = [dag for dag in due_dags if dag.version_id in graphs]
            for dag in due_dags:
                spec = graphs[dag.version_id].dag
                plan = _plan(spec, dag, now)
                _create(conn, spec, dag, plan)
                dags.plan(conn, dag, plan.following)
            before_commit()
        return len(due_dags)

    return sum(replica.creating.each(replica.engine, replica.me, now, create))


def _plan(spec: DagSpec, dag: dags.DueDag, now: datetime) -> Due:
    restriction = TimeRestriction(spec.start_date, spec.end_date, spec.catchup)
    try:
        timetable = registry.decode(spec.timetable)
        return due(timetable, dag.last, restriction, now, dag.room, dag.taken)
    except TimetableError:
        log.exception("DAG %s is not scheduled any more: its timetable fails", spec.dag_id)
        return Due([], None)


def _create(conn: Connection, spec: DagSpec, dag: dags.DueDag, plan: Due) -> None:
    if not plan.runs:
        return
    new = runs.NewRuns(
        dag.dag_id,
        RunType.SCHEDULED,
        dag.version_id,
        plan.runs,
        {},
        partitions=registry.decode(spec.timetable).partitions,
    )
    for run_id in runs.create(conn, new):
        log.info("action=create_run dag=%s run=%s", dag.dag_id, run_id)
