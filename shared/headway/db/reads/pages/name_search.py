"""Search DAGs, tasks and runs by parts of their names.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from headway.db.reads.pages import paging
from headway.domain.states import RunState

LATEST_RUNS: Final = 10_000
"""Runs that are looked at, the latest created: run ids have no index of their parts."""

DAGS = text("""
    SELECT dag_id, description, active
      FROM dag
     WHERE (CAST(:bundles AS text[]) IS NULL OR bundle = ANY (CAST(:bundles AS text[])))
       AND (dag_id ILIKE :part OR description ILIKE :part
            OR EXISTS (SELECT FROM unnest(tags) AS tag WHERE tag ILIKE :part))
     ORDER BY dag_id ILIKE :start DESC, dag_id ILIKE :part DESC, active DESC, dag_id
     LIMIT :limit
""")

TASKS = text("""
    SELECT dag.dag_id, task.task_id
      FROM dag
      JOIN dag_task AS task ON task.version_id = dag.version_id
     WHERE (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND dag.active AND task.task_id ILIKE :part
     ORDER BY task.task_id ILIKE :start DESC, task.task_id, dag.dag_id
     LIMIT :limit
""")

RUNS = text("""
    SELECT run.dag_id, run.run_id, run.state
      FROM (SELECT id, dag_id, run_id, state FROM dag_run ORDER BY id DESC LIMIT :latest) AS run
      JOIN dag ON dag.dag_id = run.dag_id
     WHERE (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND run.run_id ILIKE :part
     ORDER BY run.id DESC
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class MatchedDag:
    """A DAG whose id, description or tag has the text; `active` while a DAG file defines it."""

    dag_id: str
    description: str | None
    active: bool


@dataclass(frozen=True, slots=True)
class MatchedTask:
    """A task of a version in force whose id has the text."""

    dag_id: str
    task_id: str


@dataclass(frozen=True, slots=True)
class MatchedRun:
    """One of the latest runs, whose id has the text."""

    dag_id: str
    run_id: str
    state: RunState


@dataclass(frozen=True, slots=True)
class FoundNames:
    """What a search has found, the best first."""

    dags: Sequence[MatchedDag]
    tasks: Sequence[MatchedTask]
    runs: Sequence[MatchedRun]


def search(conn: Connection, bundles: Sequence[str] | None, part: str, limit: int) -> FoundNames:
    """Return up to so many DAGs, tasks and runs that have this text in their names."""
    start = paging.begins_with(part)
    parameters = {
        "bundles": paging.as_list(bundles),
        "start": start,
        "part": f"%{start}",
        "limit": limit,
        "latest": LATEST_RUNS,
    }
    return FoundNames(
        [MatchedDag(**row) for row in conn.execute(DAGS, parameters).mappings()],
        [MatchedTask(**row) for row in conn.execute(TASKS, parameters).mappings()],
        [
            MatchedRun(row.dag_id, row.run_id, RunState(row.state))
            for row in conn.execute(RUNS, parameters)
        ],
    )
