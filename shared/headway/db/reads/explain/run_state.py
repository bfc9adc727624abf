"""SQL on how a run and the runs around it stand, for an explanation.  Reads only."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, text

from headway.db.reads.explain import task_state
from headway.db.reads.explain.queue_order import MOST_HOLDERS
from headway.db.scheduling import run_snapshots
from headway.db.scheduling.run_snapshots import RunSnapshot
from headway.decide.explain.explanation import Holder
from headway.decide.explain.snapshot import RunRow
from headway.domain.states import TERMINAL, TaskState

TASK_COUNTS = text("""
    SELECT task_id, state, count(*) AS instances, min(map_index) AS first_index,
           CASE WHEN state = 'none' THEN array_agg(id ORDER BY map_index) END AS undecided,
           jsonb_object_agg(map_index, skips) FILTER (WHERE skips <> '{}') AS skips,
           CASE WHEN task_id = ANY (CAST(:grouped AS text[]))
                THEN array_agg(map_index ORDER BY map_index) END AS indexes
      FROM task_instance
     WHERE dag_run_id = :run
     GROUP BY task_id, state
""")

INSTANCES = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state,
           coalesce(task.ended_at, task.started_at) AS since
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE task.dag_run_id = :run AND task.task_id = ANY (:task_ids)
       AND NOT task.state = ANY (:without)
       AND (task.map_index IN (:map_index, -1) OR NOT task.task_id = ANY (CAST(:mates AS text[])))
     ORDER BY task.state = ANY (:terminal), task.state = 'success', task.state = 'none', task.id
     LIMIT :limit
""")

ACTIVE_RUNS = text("""
    SELECT dag_id, run_id, state, started_at AS since
      FROM dag_run
     WHERE dag_id = :dag_id AND state = 'running'
       AND backfill_id IS NOT DISTINCT FROM :backfill_id
     ORDER BY started_at, id
     LIMIT :limit
""")

RUN_QUEUE = text("""
    SELECT count(*) FILTER (WHERE state = 'queued'
                              AND (run_after, id) <= (:run_after, :run)) AS nth,
           count(*) FILTER (WHERE state = 'queued') AS waiting,
           count(*) FILTER (WHERE state = 'running') AS active
      FROM dag_run
     WHERE dag_id = :dag_id AND backfill_id IS NOT DISTINCT FROM :backfill_id
       AND state IN ('queued', 'running')
""")

UNFINISHED = text("""
    SELECT dag_id, run_id, state, started_at AS since, count(*) OVER () AS unfinished
      FROM dag_run
     WHERE dag_id = :dag_id AND run_type = 'scheduled' AND backfill_id IS NULL
       AND state IN ('queued', 'running')
     ORDER BY started_at, id
     LIMIT :limit
""")


def schedule_state(conn: Connection, run: int, grouped: Collection[str]) -> RunSnapshot:
    """Return how the tasks of a run stand, and what others chose not to run.

    The tasks `grouped`, which are in mapped groups, are told of by map index.
    """
    rows = run_snapshots.SnapshotRows()
    for row in conn.execute(TASK_COUNTS, {"run": run, "grouped": sorted(grouped)}):
        rows.add(row)
    return rows.snapshot


def instances(
    conn: Connection,
    run: int,
    tasks: Sequence[str],
    without: Collection[TaskState] = (),
    at: tuple[Collection[str], int] = ((), -1),
) -> list[Holder]:
    """Return the first instances of these tasks, those that have not ended before the others.

    Of some tasks only those `at` a map index, or those that are not expanded.
    """
    parameters: dict[str, object] = {
        "run": run,
        "task_ids": list(tasks),
        "without": sorted(without),
        "mates": sorted(at[0]),
        "map_index": at[1],
    }
    parameters |= {"terminal": sorted(TERMINAL), "limit": MOST_HOLDERS}
    rows = conn.execute(INSTANCES, parameters).mappings()
    return [Holder(**row) for row in rows]


def run_before(conn: Connection, run_id: int) -> RunRow | None:
    """Return the run that tasks with depends_on_past look at; None for the first of its DAG."""
    row = conn.execute(run_snapshots.PREVIOUS, {"runs": [run_id]}).one_or_none()
    return None if row is None else task_state.run(conn, number=row.id)


def active_runs(conn: Connection, run: RunRow) -> list[Holder]:
    """Return the first running runs of a run's queue."""
    run_queue = {"dag_id": run.dag_id, "backfill_id": run.backfill_id, "limit": MOST_HOLDERS}
    return [Holder(**row) for row in conn.execute(ACTIVE_RUNS, run_queue).mappings()]


def unfinished_runs(conn: Connection, dag_id: str) -> tuple[int, list[Holder]]:
    """Return how many runs the DAG's schedule has that have not ended, and the first.

    Those that run again in a backfill are the backfill's.
    """
    rows = conn.execute(UNFINISHED, {"dag_id": dag_id, "limit": MOST_HOLDERS}).all()
    first = [
        Holder(dag_id=row.dag_id, run_id=row.run_id, state=row.state, since=row.since)
        for row in rows
    ]
    return rows[0].unfinished if rows else 0, first


def run_queue(conn: Connection, run: RunRow) -> tuple[int, int, int]:
    """Return the place of a queued run in its run queue, how many wait there, and how many run."""
    row = conn.execute(
        RUN_QUEUE,
        {
            "run": run.id,
            "run_after": run.run_after,
            "dag_id": run.dag_id,
            "backfill_id": run.backfill_id,
        },
    ).one()
    return row.nth, row.waiting, row.active
