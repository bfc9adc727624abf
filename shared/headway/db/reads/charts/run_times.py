"""When the attempts of a run were queued, started and ended.  Reads only."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from sqlalchemy import Connection, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.columns import optional, values_of
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
from headway.decide.charts.critical_path import TimedAttempt, TimedTask
from headway.domain.states import Outcome, TaskState

# An instance that has had no attempt has a row as well.
GANTT = text("""
    SELECT task.id, task.task_id, task.map_index, task.state, coalesce(it.attempt, 0) AS attempt,
           it.outcome, coalesce(it.pool, task.pool) AS pool,
           coalesce(it.queue, task.queue) AS queue, task.scheduled_at, it.queued_at,
           it.started_at, it.ended_at, process.hostname AS worker
      FROM dag_run AS run
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN task_instance AS task ON task.dag_run_id = run.id
      LEFT JOIN task_attempt AS it ON it.task_instance_id = task.id
      LEFT JOIN process ON process.id = it.process_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:last_id AS bigint) IS NULL
            OR (task.id, coalesce(it.attempt, 0)) > (:last_id, :last_attempt))
       AND (CAST(:task_ids AS text[]) IS NULL
            OR (task.task_id, task.map_index) IN
               (SELECT * FROM unnest(CAST(:task_ids AS text[]), CAST(:map_indexes AS int[]))))
     ORDER BY task.id, coalesce(it.attempt, 0)
     LIMIT :limit
""")

# Of a mapped task, the instance that is asked for, else one that has not ended, or has ended last.
LAST = text("""
    SELECT task.id, task.task_id, task.map_index, task.state, task.pool, task.queue,
           task.scheduled_at, task.ended_at, it.attempt, it.queued_at,
           it.started_at AS attempt_started_at, it.ended_at AS attempt_ended_at
      FROM (SELECT DISTINCT ON (task.task_id) task.*
              FROM dag_run AS run
              JOIN task_instance AS task ON task.dag_run_id = run.id
              LEFT JOIN unnest(CAST(:task_ids AS text[]), CAST(:indexes AS int[]))
                   AS asked (task_id, map_index) ON asked.task_id = task.task_id
             WHERE run.dag_id = :dag_id AND run.run_id = :run_id
             ORDER BY task.task_id, task.map_index IS DISTINCT FROM asked.map_index,
                      coalesce(task.ended_at, 'infinity') DESC, task.map_index)
           AS task
      LEFT JOIN task_attempt AS it ON it.task_instance_id = task.id
     ORDER BY task.id, it.attempt
""")


EDGES = text("""
    SELECT edge.upstream, edge.downstream
      FROM dag_run AS run
      JOIN dag_edge AS edge ON edge.version_id = run.version_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
     ORDER BY edge.downstream, edge.upstream
""")

STATES = text("""
    SELECT task.task_id, task.state, count(*) AS instances
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
     GROUP BY task.task_id, task.state
     ORDER BY task.task_id, task.state
""")


NO_INDEXES: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GanttBar:
    """An attempt of a task instance; `attempt` is 0 for an instance that has had none.

    `scheduled_at` is when the dependencies of the instance were met, the last time.  `outcome` is
    None until the attempt has ended, `worker` (a host name) until one has claimed it.
    """

    task_id: str
    map_index: int
    state: TaskState
    attempt: int
    outcome: Outcome | None
    pool: str
    queue: str
    scheduled_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    worker: str | None


def gantt(
    conn: Connection,
    asked: Asked,
    dag_id: str,
    run_id: str,
    instances: Collection[tuple[str, int]] | None = None,
) -> ListPage[GanttBar]:
    """Return a page of the attempts of a run, in topological order.

    They are those of all task instances, or of those with these task ids and map indexes.
    """
    of = {"dag_id": dag_id, "run_id": run_id}
    listing = PagedList("gantt", (int, int), "id", filters=of)
    last_id, last_attempt = listing.key(asked.cursor) or (None, None)
    parameters = {
        **of,
        "bundles": paging.as_list(asked.bundles),
        "last_id": last_id,
        "last_attempt": last_attempt,
        "limit": asked.limit + 1,
        "task_ids": None if instances is None else [task_id for task_id, _ in instances],
        "map_indexes": None if instances is None else [index for _, index in instances],
    }
    found = conn.execute(GANTT, parameters)
    values = values_of(GanttBar, found.keys(), state=TaskState, outcome=optional(Outcome))
    rows = [(row.id, GanttBar(*values(row))) for row in found.all()]
    page = paging.listed(rows, asked.limit, listing, lambda row: (row[0], row[1].attempt))
    return ListPage([bar for _, bar in page.rows], page.following)


def timed_tasks(
    conn: Connection, dag_id: str, run_id: str, indexes: Mapping[str, int] = NO_INDEXES
) -> list[TimedTask]:
    """Return the tasks of a run that has started, with their attempts and those above them.

    Of the tasks in `indexes` it is the instance of that map index, if there is one.
    """
    of = {"dag_id": dag_id, "run_id": run_id}
    upstream: dict[str, list[str]] = {}
    for above, below in conn.execute(EDGES, of).all():
        upstream.setdefault(below, []).append(above)
    found: dict[int, TimedTask] = {}
    attempts: dict[int, list[TimedAttempt]] = {}
    asked = {"task_ids": list(indexes), "indexes": list(indexes.values())}
    for row in conn.execute(LAST, {**of, **asked}).all():
        number, task_id, index, state, pool, queue, scheduled_at, ended_at, attempt, *times = row
        its = attempts.setdefault(number, [])
        if attempt is not None:
            its.append(TimedAttempt(attempt, *times))
        if number not in found:
            task = task_id, index, TaskState(state), upstream.get(task_id, ())
            found[number] = TimedTask(*task, pool, queue, scheduled_at, ended_at, its)
    return list(found.values())


def state_counts(conn: Connection, dag_id: str, run_id: str) -> dict[str, dict[TaskState, int]]:
    """Count the instances of each task of a run by their states."""
    found: dict[str, dict[TaskState, int]] = {}
    for row in conn.execute(STATES, {"dag_id": dag_id, "run_id": run_id}):
        found.setdefault(row.task_id, {})[TaskState(row.state)] = row.instances
    return found
