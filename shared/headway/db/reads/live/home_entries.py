"""What needs a person and what runs, over all DAGs; and the pools."""

import json
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.live import live_entries
from headway.db.reads.live.live_entries import LiveEntries
from headway.db.reads.pages import pool_pages
from headway.db.reads.pages.paging import MOST_ROWS, Asked

MOST_SHOWN: Final = 25
"""How many running runs are told of, how many failed ones, and how many that have ended."""

MOST_COUNTED: Final = 1_001
"""Up to how many runs of a state are counted."""

LOOKED_AT: Final = 1_000
"""Among how many of the runs that ended last those that failed are looked for."""

# A process that has died changes nothing: that it does not beat is told every 15 seconds, at first.
HOME = hot("""
    WITH visible AS (
        SELECT dag_id FROM dag
         WHERE CAST(:bundles AS text[]) IS NULL OR bundle = ANY (CAST(:bundles AS text[]))
    ), running AS (
        SELECT run.id, run.dag_id, run.run_id, run.started_at
          FROM dag_run AS run
         WHERE run.state = 'running'
           AND (CAST(:bundles AS text[]) IS NULL
                OR run.dag_id IN (SELECT dag_id FROM visible))
         LIMIT :counted
    ), queued AS (
        SELECT run.id
          FROM dag_run AS run
         WHERE run.state = 'queued'
           AND (CAST(:bundles AS text[]) IS NULL
                OR run.dag_id IN (SELECT dag_id FROM visible))
         LIMIT :counted
    ), ended AS MATERIALIZED (
        SELECT id, dag_id, run_id, state, ended_at
          FROM dag_run
         WHERE ended_at IS NOT NULL
         ORDER BY ended_at DESC, id DESC
         LIMIT :looked_at
    ), seen AS (
        SELECT *
          FROM ended
         WHERE CAST(:bundles AS text[]) IS NULL OR dag_id IN (SELECT dag_id FROM visible)
    )
    SELECT 'counts', EXISTS (SELECT FROM running),
           CAST(jsonb_build_object(
               'running', (SELECT count(*) FROM running),
               'queued', (SELECT count(*) FROM queued),
               'import_errors', broken.errors, 'latest_import_error_at', broken.latest) AS text)
      FROM (SELECT count(*) AS errors, max(at) AS latest
              FROM import_error
             WHERE CAST(:bundles AS text[]) IS NULL
                OR bundle = ANY (CAST(:bundles AS text[]))) AS broken
     UNION ALL
    SELECT 'dags', false,
           CAST(jsonb_build_object(
               'dags', count(*), 'paused', count(*) FILTER (WHERE paused),
               'latest_version', max(version_id),
               'paused_backfills', (SELECT count(*) FROM backfill
                                     WHERE backfill.paused AND cancelled_at IS NULL
                                       AND backfill.dag_id IN (SELECT dag_id FROM visible)))
               AS text)
      FROM dag
     WHERE CAST(:bundles AS text[]) IS NULL OR bundle = ANY (CAST(:bundles AS text[]))
     UNION ALL
    SELECT 'processes', false,
           CAST(jsonb_build_object(
               'processes', count(*), 'draining', count(drain_requested_at),
               'latest', max(id),
               'silent', coalesce(sum(greatest(0, least(
                   floor(extract(epoch FROM now() - beat.beat_at) / 15), 8))), 0)) AS text)
      FROM process
      LEFT JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE ended_at IS NULL AND CAST(:bundles AS text[]) IS NULL
     UNION ALL
    (SELECT 'running/' || dag_id || '/' || run_id, false,
            CAST(jsonb_build_object('started_at', started_at) AS text)
       FROM running
      ORDER BY id DESC
      LIMIT :shown)
     UNION ALL
    (SELECT 'failed/' || dag_id || '/' || run_id, false,
            CAST(jsonb_build_object('ended_at', ended_at) AS text)
       FROM seen
      WHERE state = 'failed'
      ORDER BY ended_at DESC, id DESC
      LIMIT :shown)
     UNION ALL
    (SELECT 'ended/' || dag_id || '/' || run_id, false,
            CAST(jsonb_build_object('state', state, 'ended_at', ended_at) AS text)
       FROM seen
      ORDER BY ended_at DESC, id DESC
      LIMIT :shown)
""")


def home(conn: Connection, bundles: Sequence[str] | None) -> LiveEntries | None:
    """Return `counts`, `dags`, `processes`, and the latest runs by what they are.

    These are `running/DAG/RUN`, `failed/DAG/RUN` and `ended/DAG/RUN`.  A run that begins and ends
    between two looks is told of by the last of them.
    """
    asked = {"counted": MOST_COUNTED, "looked_at": LOOKED_AT, "shown": MOST_SHOWN}
    return live_entries.read(conn, HOME, bundles, asked)


def pools(conn: Connection, bundles: Sequence[str] | None) -> LiveEntries | None:
    """Return `pool/NAME` of each pool that the reader may see, up to the largest page."""
    found = pool_pages.page(conn, Asked(bundles, MOST_ROWS)).rows
    values = {
        f"pool/{pool.name}": json.dumps(
            {
                "slots": pool.slots,
                "queued": int(pool.queued),
                "running": int(pool.running),
                "scheduled": int(pool.scheduled),
                "deferred": int(pool.deferred),
                "include_deferred": pool.include_deferred,
            }
        )
        for pool in found
    }
    return LiveEntries(values, any(pool.queued or pool.running or pool.scheduled for pool in found))
