"""A DAG run with its task instances, and one task instance with its attempts."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.live import live_entries
from headway.db.reads.live.live_entries import LiveEntries

# A mapped task is one entry, however many instances it has.  Attempts under way are read by their
# own index, and only if a task of the run waits; those of ended runs are few or none.
RUN = hot("""
    WITH run AS (
        SELECT run.id, run.dag_id, run.state, run.run_type, run.started_at, run.ended_at,
               run.backfill_id, version.number AS version
          FROM dag_run AS run
          JOIN dag USING (dag_id)
          JOIN dag_version AS version ON version.id = run.version_id
         WHERE run.dag_id = :dag_id AND run.run_id = :run_id
           AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
    ), waiting AS MATERIALIZED (
        SELECT DISTINCT task.state, task.pool, task.queue
          FROM run
          JOIN task_instance AS task ON task.dag_run_id = run.id
         WHERE task.state IN ('scheduled', 'queued')
    ), held AS MATERIALIZED (
        SELECT it.dag_id, it.pool, it.queue, it.pool_slots,
               it.started_at IS NOT NULL AS started, coalesce(it.started_at, it.queued_at) AS since
          FROM task_attempt AS it
         WHERE it.ended_at IS NULL AND EXISTS (SELECT FROM waiting)
    ), holder AS (
        SELECT 'held/pool/' || pool AS name, pool_slots, started, since
          FROM held WHERE pool IN (SELECT pool FROM waiting WHERE state = 'scheduled')
         UNION ALL
        SELECT 'held/queue/' || queue, pool_slots, started, since
          FROM held WHERE queue IN (SELECT queue FROM waiting)
         UNION ALL
        SELECT 'held/dag', pool_slots, started, since
          FROM held JOIN run USING (dag_id)
         WHERE EXISTS (SELECT FROM waiting WHERE state = 'scheduled')
         UNION ALL
        SELECT 'held/runs', 0, true, other.started_at
          FROM run
          JOIN dag_run AS other ON other.dag_id = run.dag_id AND other.state = 'running'
         WHERE run.state = 'queued'
    )
    SELECT 'run', state IN ('queued', 'running'),
           CAST(jsonb_build_object(
               'state', state, 'run_type', run_type, 'started_at', started_at,
               'ended_at', ended_at, 'version', version, 'backfill_id', backfill_id) AS text)
      FROM run
     UNION ALL
    SELECT 'task/' || task.task_id, false,
           CAST(jsonb_build_object(
               'state', task.state, 'attempt', task.attempt, 'started_at', task.started_at,
               'ended_at', task.ended_at, 'progress', work.progress) AS text)
      FROM run
      JOIN task_instance AS task ON task.dag_run_id = run.id
      LEFT JOIN spark_work AS work ON work.task_instance_id = task.id
                                  AND work.attempt = task.attempt
     WHERE task.map_index < 0
     UNION ALL
    SELECT 'mapped/' || task_id, false, CAST(jsonb_object_agg(state, number) AS text)
      FROM (SELECT task.task_id, task.state, count(*) AS number
              FROM run
              JOIN task_instance AS task ON task.dag_run_id = run.id
             WHERE task.map_index >= 0
             GROUP BY task.task_id, task.state) AS task
     GROUP BY task_id
     UNION ALL
    SELECT name, false,
           CAST(jsonb_build_object(
               'holders', count(*), 'started', count(*) FILTER (WHERE started),
               'pool_slots', sum(pool_slots), 'latest', max(since)) AS text)
      FROM holder
     GROUP BY name
""")

TASK = hot("""
    WITH task AS (
        SELECT task.id, task.state, task.attempt, task.failures, task.losses, task.pool,
               task.queue, task.retry_at, task.scheduled_at, task.started_at, task.ended_at,
               run.state IN ('queued', 'running') AS unfinished
          FROM dag_run AS run
          JOIN dag USING (dag_id)
          JOIN task_instance AS task ON task.dag_run_id = run.id
         WHERE run.dag_id = :dag_id AND run.run_id = :run_id
           AND task.task_id = :task_id AND task.map_index = :map_index
           AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
    )
    SELECT 'task', unfinished,
           CAST(jsonb_build_object(
               'state', state, 'attempt', attempt, 'failures', failures, 'losses', losses,
               'pool', pool, 'queue', queue, 'retry_at', retry_at,
               'scheduled_at', scheduled_at, 'started_at', started_at, 'ended_at', ended_at)
               AS text)
      FROM task
     UNION ALL
    SELECT 'attempt/' || it.attempt, false,
           CAST(jsonb_build_object(
               'phase', it.phase, 'outcome', it.outcome, 'error', left(it.error, :longest),
               'worker', process.hostname, 'queued_at', it.queued_at,
               'started_at', it.started_at, 'ended_at', it.ended_at,
               'progress', work.progress, 'figures', work.figures) AS text)
      FROM task
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      LEFT JOIN process ON process.id = it.process_id
      LEFT JOIN spark_work AS work ON work.task_instance_id = it.task_instance_id
                                  AND work.attempt = it.attempt
""")

LONGEST_ERROR: Final = 2_000
"""Characters of an attempt's error that are told; the attempt itself has all of it."""


def run(
    conn: Connection, bundles: Sequence[str] | None, dag_id: str, run_id: str
) -> LiveEntries | None:
    """Return `run`, `task/TASK` of each task, and `mapped/TASK`: how many instances by state.

    While tasks wait, also who holds what they wait for: `held/pool/POOL`, `held/queue/QUEUE` and
    `held/dag`; and `held/runs`, the running runs of the DAG, while the run is queued.
    """
    return live_entries.read(conn, RUN, bundles, {"dag_id": dag_id, "run_id": run_id})


def task(
    conn: Connection,
    bundles: Sequence[str] | None,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int,
) -> LiveEntries | None:
    """Return `task`, and `attempt/NUMBER` of each of its attempts."""
    asked = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": map_index}
    return live_entries.read(conn, TASK, bundles, {**asked, "longest": LONGEST_ERROR})
