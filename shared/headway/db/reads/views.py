"""What people look at: DAGs, runs, task instances and attempts as they stand.  Reads only."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from sqlalchemy import Connection, TextClause, text

Row: TypeAlias = dict[str, Any]

DAGS = text("""
    SELECT dag.dag_id, dag.active, dag.paused, dag.tags, dag.description, dag.bundle,
           dag.relative_path, version.number AS version, dag.max_active_runs,
           dag.max_active_tasks, dag.next_interval_start, dag.next_interval_end,
           CASE WHEN dag.next_interval_start IS NOT NULL THEN dag.next_run_after END
               AS next_run_after,
           dag.schedule_error,
           (SELECT count(*) FROM dag_task WHERE version_id = dag.version_id) AS tasks,
           (SELECT count(*) FROM dag_run
             WHERE dag_run.dag_id = dag.dag_id AND state = 'running') AS running
      FROM dag
      LEFT JOIN dag_version AS version ON version.id = dag.version_id
     WHERE (CAST(:dag_id AS text) IS NULL OR dag.dag_id = :dag_id)
       AND (dag.active OR :inactive)
     ORDER BY dag.dag_id
""")

CURRENT_VERSION = text("""
    SELECT version.id, version.serialized, dag.active, dag.paused
      FROM dag
      JOIN dag_version AS version ON version.id = dag.version_id
     WHERE dag.dag_id = :dag_id
""")

RUNS = text("""
    SELECT run.dag_id, run.run_id, run.run_type, run.state, run.interval_start,
           run.interval_end, run.schedule_date, run.run_after, run.started_at, run.ended_at,
           run.conf, version.number AS version, run.backfill_id
      FROM dag_run AS run
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE run.dag_id = :dag_id
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:state AS text) IS NULL OR run.state = :state)
     ORDER BY run.schedule_date DESC, run.id DESC
     LIMIT :limit
""")

# Of all DAGs the newest are those that were created last: they have an index.
LATEST_RUNS = text("""
    SELECT run.dag_id, run.run_id, run.run_type, run.state, run.interval_start,
           run.interval_end, run.schedule_date, run.run_after, run.started_at, run.ended_at,
           run.conf, version.number AS version, run.backfill_id
      FROM dag_run AS run
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE (CAST(:state AS text) IS NULL OR run.state = :state)
     ORDER BY run.id DESC
     LIMIT :limit
""")

TASKS = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state, task.attempt,
           task.failures, task.losses, task.pool, task.queue, task.priority, task.retry_at,
           task.started_at, task.ended_at
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
     ORDER BY task.id
""")

TASK_STATE = text("""
    SELECT task.state
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND task.task_id = :task_id AND task.map_index = :map_index
""")

ATTEMPTS = text("""
    SELECT task.task_id, task.map_index, it.attempt, it.phase, it.outcome, it.error, it.handle,
           it.queued_at, it.started_at, it.ended_at, process.hostname AS worker
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      LEFT JOIN process ON process.id = it.process_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND (CAST(:task_id AS text) IS NULL OR task.task_id = :task_id)
       AND (CAST(:map_index AS integer) IS NULL OR task.map_index = :map_index)
     ORDER BY task.id, it.attempt
""")

CALLBACKS = text("""
    SELECT it.id AS callback, run.dag_id, run.run_id, it.task_id, it.map_index, it.attempt,
           it.event, it.reason, it.state, it.tries, it.error, it.cause, it.created_at,
           it.started_at, it.ended_at, process.hostname AS worker
      FROM callback AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      LEFT JOIN process ON process.id = it.process_id
     WHERE (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:state AS text) IS NULL OR it.state = :state)
       AND (CAST(:callback AS bigint) IS NULL OR it.id = :callback)
     ORDER BY it.id DESC
     LIMIT :limit
""")

PROCESSES = text("""
    SELECT process.id, kind, hostname, pid, version, queues, slots, started_at, beat.beat_at,
           drain_asked_at, beat.report,
           (SELECT count(*) FROM task_attempt
             WHERE process_id = process.id AND ended_at IS NULL) AS running
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE ended_at IS NULL
     ORDER BY kind, process.id
""")

EDGES = text("""
    SELECT edge.upstream, edge.downstream
      FROM dag_edge AS edge
      JOIN dag ON dag.version_id = edge.version_id
     WHERE dag.dag_id = :dag_id
     ORDER BY 1, 2
""")

EVENTS = text("""
    SELECT at, actor, action, dag_id, run_id, task_id, details
      FROM event
     WHERE (CAST(:dag_id AS text) IS NULL OR dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run_id = :run_id)
     ORDER BY id DESC
     LIMIT :limit
""")


def dags(conn: Connection, dag_id: str | None = None, *, inactive: bool = False) -> list[Row]:
    """Return DAGs, or the one of that id, with what is next for each."""
    return _rows(conn, DAGS, {"dag_id": dag_id, "inactive": inactive or dag_id is not None})


def current_version(conn: Connection, dag_id: str) -> Row | None:
    """Return the version in force (id, serialized), and whether the DAG is active and paused."""
    rows = _rows(conn, CURRENT_VERSION, {"dag_id": dag_id})
    return rows[0] if rows else None


def runs(
    conn: Connection,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: str | None = None,
    limit: int = 100,
) -> list[Row]:
    """Return runs of a DAG, the latest date first, or of all DAGs, the last created first.

    A `run_id` is one of a DAG.
    """
    parameters = {"dag_id": dag_id, "run_id": run_id, "state": state, "limit": limit}
    return _rows(conn, LATEST_RUNS if dag_id is None else RUNS, parameters)


def tasks(conn: Connection, dag_id: str, run_id: str) -> list[Row]:
    """Return the task instances of a run, in topological order."""
    return _rows(conn, TASKS, {"dag_id": dag_id, "run_id": run_id})


def task_state(
    conn: Connection, dag_id: str, run_id: str, task_id: str, map_index: int
) -> str | None:
    """Return the state of one task instance; None when there is no such instance."""
    names = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": map_index}
    found = conn.scalar(TASK_STATE, names)
    return None if found is None else str(found)


def attempts(
    conn: Connection,
    dag_id: str,
    run_id: str,
    task_id: str | None = None,
    map_index: int | None = None,
) -> list[Row]:
    """Return every attempt of a run's task instances, or of one task's, or of one instance's."""
    names = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": map_index}
    return _rows(conn, ATTEMPTS, names)


def callbacks(
    conn: Connection,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: str | None = None,
    limit: int = 100,
) -> list[Row]:
    """Return callbacks, the latest first: all of them, or those of a DAG, or of a run."""
    chosen = {"dag_id": dag_id, "run_id": run_id, "state": state, "callback": None}
    return _rows(conn, CALLBACKS, {**chosen, "limit": limit})


def callback(conn: Connection, number: int) -> Row | None:
    """Return the callback of that number."""
    anything = dict.fromkeys(("dag_id", "run_id", "state"))
    rows = _rows(conn, CALLBACKS, {**anything, "callback": number, "limit": 1})
    return rows[0] if rows else None


def processes(conn: Connection) -> list[Row]:
    """Return the service processes that have not ended."""
    return _rows(conn, PROCESSES, {})


def edges(conn: Connection, dag_id: str) -> list[Row]:
    """Return the edges of the DAG's version in force."""
    return _rows(conn, EDGES, {"dag_id": dag_id})


def events(
    conn: Connection, dag_id: str | None = None, run_id: str | None = None, limit: int = 100
) -> list[Row]:
    """Return what was done, the latest first: all of it, or to a DAG, or to one of its runs."""
    return _rows(conn, EVENTS, {"dag_id": dag_id, "run_id": run_id, "limit": limit})


def _rows(conn: Connection, query: TextClause, parameters: Mapping[str, object]) -> list[Row]:
    return [dict(row) for row in conn.execute(query, parameters).mappings()]
