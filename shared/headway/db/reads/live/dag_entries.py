"""A DAG with the columns of its grid that may still change, and a backfill with its dates."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.live import live_entries
from headway.db.reads.live.live_entries import LiveEntries

MOST_RUNS: Final = 25
"""How many of the latest runs are told of, and how many running ones with their cells."""

MOST_DATES: Final = 5_000
"""How many dates of a backfill are told of, the first of its plan."""

MOST_COUNTED: Final = 1_001
"""Up to how many queued runs are counted."""

# A run that has ended is told of without its cells: these are final, and the grid has them.
DAG = hot("""
    WITH its AS (
        SELECT dag.dag_id, dag.paused, dag.active, dag.next_run_after, dag.schedule_error,
               version.number AS version, broken.at AS import_error_at
          FROM dag
          LEFT JOIN dag_version AS version ON version.id = dag.version_id
          LEFT JOIN import_error AS broken
            ON (broken.bundle, broken.relative_path) = (dag.bundle, dag.relative_path)
         WHERE dag.dag_id = :dag_id
           AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
    ), latest AS (
        SELECT run.id
          FROM its
          JOIN dag_run AS run USING (dag_id)
         ORDER BY run.schedule_date DESC, run.id DESC
         LIMIT :most
    ), running AS (
        SELECT run.id, run.run_id
          FROM its
          JOIN dag_run AS run USING (dag_id)
         WHERE run.state = 'running'
         ORDER BY run.id DESC
         LIMIT :most
    )
    SELECT 'dag', EXISTS (SELECT FROM running),
           CAST(jsonb_build_object(
               'paused', paused, 'active', active, 'version', version,
               'next_run_after', next_run_after, 'schedule_error', schedule_error,
               'import_error_at', import_error_at,
               'queued', (SELECT count(*)
                            FROM (SELECT FROM dag_run AS run
                                   WHERE run.dag_id = its.dag_id AND run.state = 'queued'
                                   LIMIT :counted) AS run)) AS text)
      FROM its
     UNION ALL
    SELECT 'run/' || run.run_id, false,
           CAST(jsonb_build_object(
               'state', run.state, 'run_type', run.run_type, 'version', version.number,
               'schedule_date', run.schedule_date, 'started_at', run.started_at,
               'ended_at', run.ended_at, 'backfill_id', run.backfill_id) AS text)
      FROM dag_run AS run
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE run.id IN (SELECT id FROM latest UNION SELECT id FROM running)
     UNION ALL
    SELECT 'cell/' || running.run_id || '/' || task.task_id, false,
           CAST(to_jsonb(task.state) AS text)
      FROM running
      JOIN task_instance AS task ON task.dag_run_id = running.id
     WHERE task.map_index < 0
     UNION ALL
    SELECT 'cell/' || run_id || '/' || task_id, false,
           CAST(jsonb_object_agg(state, number) AS text)
      FROM (SELECT running.run_id, task.task_id, task.state, count(*) AS number
              FROM running
              JOIN task_instance AS task ON task.dag_run_id = running.id
             WHERE task.map_index >= 0
             GROUP BY running.run_id, task.task_id, task.state) AS task
     GROUP BY run_id, task_id
""")

BACKFILL = hot("""
    WITH it AS (
        SELECT backfill.id, backfill.dag_id, backfill.planned, backfill.paused,
               backfill.cancelled_at, run.queued, run.running, run.succeeded, run.failed
          FROM backfill
          JOIN dag USING (dag_id)
         CROSS JOIN LATERAL (
               SELECT count(*) FILTER (WHERE state = 'queued') AS queued,
                      count(*) FILTER (WHERE state = 'running') AS running,
                      count(*) FILTER (WHERE state = 'success') AS succeeded,
                      count(*) FILTER (WHERE state = 'failed') AS failed
                 FROM dag_run WHERE backfill_id = backfill.id) AS run
         WHERE backfill.id = :id
           AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
    )
    SELECT 'backfill', succeeded + failed < planned,
           CAST(jsonb_build_object(
               'dag_id', dag_id, 'planned', planned, 'paused', paused,
               'cancelled_at', cancelled_at, 'queued', queued, 'running', running,
               'succeeded', succeeded, 'failed', failed) AS text)
      FROM it
     UNION ALL
    SELECT 'date/' || planned.position, false,
           CAST(jsonb_build_object(
               'decision', planned.decision, 'run_id', planned.run_id, 'state', run.state)
               AS text)
      FROM it
     CROSS JOIN LATERAL (
           SELECT * FROM backfill_date
            WHERE backfill_id = it.id
            ORDER BY position
            LIMIT :most) AS planned
      LEFT JOIN dag_run AS run ON run.id = planned.dag_run_id
""")


def dag(conn: Connection, bundles: Sequence[str] | None, dag_id: str) -> LiveEntries | None:
    """Return `dag`, `run/RUN` of its latest and its running runs, and `cell/RUN/TASK`.

    A cell is the state of the task in a running run; of a mapped task, how many instances by state.
    """
    asked = {"dag_id": dag_id, "most": MOST_RUNS, "counted": MOST_COUNTED}
    return live_entries.read(conn, DAG, bundles, asked)


def backfill(
    conn: Connection, bundles: Sequence[str] | None, backfill_id: int
) -> LiveEntries | None:
    """Return `backfill`, and `date/POSITION` of each date of its plan."""
    asked = {"id": backfill_id, "most": MOST_DATES}
    return live_entries.read(conn, BACKFILL, bundles, asked)
