"""SQL on how an installation stands as a whole: what waits, and for how long.  Reads only.

What may be millions of rows is read in part, so that the cost has a bound: counts stop at `MOST`.
"""

from typing import Final

from sqlalchemy import Connection, text

from headway.decide.explain.status import OpenWork, PoolStatus, QueueStatus, Trouble, WaitingInPool

MOST: Final = 5_000
"""How many rows of a kind are read: runs in a state, due DAGs, tasks of a pool in either index."""

# When a task was scheduled follows from its queue position.  Those under a narrower limit
# have an index of their own, hence the two halves.
WAITING = text("""
    WITH RECURSIVE open AS (
        (SELECT pool FROM task_instance WHERE state = 'scheduled' AND NOT limited
          ORDER BY pool LIMIT 1)
         UNION ALL
        SELECT (SELECT pool FROM task_instance AS task
                 WHERE state = 'scheduled' AND NOT limited AND task.pool > open.pool
                 ORDER BY pool LIMIT 1)
          FROM open WHERE open.pool IS NOT NULL
    ), narrow AS (
        (SELECT pool FROM task_instance WHERE state = 'scheduled' AND limited
          ORDER BY pool LIMIT 1)
         UNION ALL
        SELECT (SELECT pool FROM task_instance AS task
                 WHERE state = 'scheduled' AND limited AND task.pool > narrow.pool
                 ORDER BY pool LIMIT 1)
          FROM narrow WHERE narrow.pool IS NOT NULL
    ), seen AS (
        SELECT it.*
          FROM open CROSS JOIN LATERAL (
              SELECT pool, queue, dag_id, rank, priority, priority_class FROM task_instance AS task
               WHERE state = 'scheduled' AND NOT limited AND task.pool = open.pool
               LIMIT :most) AS it
         UNION ALL
        SELECT it.*
          FROM narrow CROSS JOIN LATERAL (
              SELECT pool, queue, dag_id, rank, priority, priority_class FROM task_instance AS task
               WHERE state = 'scheduled' AND limited AND task.pool = narrow.pool
               LIMIT :most) AS it
    )
    SELECT pool, queue, count(*) FILTER (WHERE NOT paused) AS waiting,
           count(*) FILTER (WHERE paused) AS paused,
           extract(epoch FROM clock_timestamp())
           - min(rank + priority * CAST(:aging AS float8) - priority_class * 1e12)
                 FILTER (WHERE NOT paused) AS longest
      FROM seen
      JOIN dag USING (dag_id)
     GROUP BY pool, queue
     ORDER BY pool, queue
""")

POOLS = text("""
    SELECT name, slots, coalesce(live.running, 0) AS running, coalesce(live.queued, 0) AS queued,
           CASE WHEN include_deferred
                THEN (SELECT coalesce(sum(pool_slots), 0) FROM task_instance
                       WHERE pool = pool.name AND state = 'deferred')
                ELSE 0 END AS deferred
      FROM pool
      LEFT JOIN (SELECT pool, sum(pool_slots) FILTER (WHERE phase <> 'queued') AS running,
                        sum(pool_slots) FILTER (WHERE phase = 'queued') AS queued
                   FROM task_attempt WHERE ended_at IS NULL GROUP BY pool) AS live
        ON live.pool = pool.name
     ORDER BY name
""")

QUEUES = text("""
    WITH served AS (
        SELECT queue, sum(slots) AS slots
          FROM process, unnest(queues) AS queue
         WHERE kind = 'worker' AND ended_at IS NULL AND drain_requested_at IS NULL
         GROUP BY queue
    ), queued AS (
        SELECT queue, count(*) AS attempts,
               extract(epoch FROM clock_timestamp() - min(queued_at)) AS longest
          FROM task_attempt WHERE phase = 'queued' GROUP BY queue
    )
    SELECT queue AS name, coalesce(served.slots, 0) AS slots,
           coalesce(queued.attempts, 0) AS queued, queued.longest
      FROM served FULL JOIN queued USING (queue)
     ORDER BY queue
""")

# A DAG that has all the runs that it may have is due and waits for none of the schedulers.
BACKLOG = text("""
    WITH late AS (
        SELECT next_run_after
          FROM (SELECT dag_id, next_run_after, coalesce(next_run_below, max_active_runs) AS most
                  FROM dag
                 WHERE active AND NOT paused AND next_run_after <= clock_timestamp()
                   AND next_interval_start IS NOT NULL
                 ORDER BY next_run_after, dag_id
                 LIMIT :most) AS due
         WHERE (SELECT count(*) FROM dag_run
                 WHERE dag_run.dag_id = due.dag_id AND run_type = 'scheduled'
                   AND backfill_id IS NULL AND state = 'queued')
               + (SELECT count(*) FROM dag_run
                   WHERE dag_run.dag_id = due.dag_id AND run_type = 'scheduled'
                     AND backfill_id IS NULL AND state = 'running') < due.most
    )
    SELECT (SELECT count(*) FROM (SELECT FROM dag_run WHERE state = 'running' LIMIT :most) AS it)
               AS runs_running,
           (SELECT count(*) FROM (SELECT FROM dag_run WHERE state = 'queued' LIMIT :most) AS it)
               AS runs_queued,
           (SELECT count(*) FROM late) AS dags_due,
           (SELECT extract(epoch FROM clock_timestamp() - min(next_run_after)) FROM late)
               AS due_longest,
           (SELECT extract(epoch FROM clock_timestamp() - created_at) FROM callback
             WHERE ended_at IS NULL ORDER BY id LIMIT 1) AS callback_longest
""")

TROUBLE = text("""
    SELECT (SELECT count(*) FROM import_error) AS files,
           (SELECT min(relative_path) FROM import_error) AS first_file,
           (SELECT count(*) FROM dag WHERE active AND schedule_error IS NOT NULL) AS schedules,
           (SELECT min(dag_id) FROM dag WHERE active AND schedule_error IS NOT NULL) AS first_dag
""")


def waiting(conn: Connection, aging: float) -> list[WaitingInPool]:
    """Return how many scheduled tasks wait, by pool and queue; `aging` is the priority's worth."""
    return [WaitingInPool(*row) for row in conn.execute(WAITING, {"aging": aging, "most": MOST})]


def pools(conn: Connection) -> list[PoolStatus]:
    """Return every pool with its slots and those taken, by name."""
    return [PoolStatus(row.name, *map(int, row[1:])) for row in conn.execute(POOLS)]


def queues(conn: Connection) -> list[QueueStatus]:
    """Return every queue that a worker serves, or that an attempt waits in."""
    return [
        QueueStatus(name, int(slots), queued, None if longest is None else float(longest))
        for name, slots, queued, longest in conn.execute(QUEUES)
    ]


def backlog(conn: Connection) -> OpenWork:
    """Return how many runs there are to do, and what is late."""
    *counts, due, callback = conn.execute(BACKLOG, {"most": MOST}).one()
    seconds = (None if moment is None else float(moment) for moment in (due, callback))
    return OpenWork(*counts, *seconds)


def trouble(conn: Connection) -> Trouble:
    """Return how many DAG files and schedules fail, and the first of each by name."""
    return Trouble(*conn.execute(TROUBLE).one())
