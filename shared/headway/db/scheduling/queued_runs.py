"""SQL on queued runs: which may start, which need a parse first, and starting them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.scheduling.scope import ANY_DAG, KeyFilter, Scope
from headway.decide.scheduling.start import QueuedRun
from headway.domain.states import RunType

REQUEST_PARSE = hot("UPDATE dag_run SET parse_requested_at = :now WHERE id = ANY (:ids)")


def request_parse(conn: Connection, ids: Sequence[int], now: datetime) -> None:
    """Have the DAG files of locked runs that are not pinned parsed, so that they may start."""
    if ids:
        conn.execute(REQUEST_PARSE, {"ids": list(ids), "now": now})


# A run queue is a backfill, or the DAG's own runs.  Only as many runs of each as may start, the
# run queues in turn, so that a long one does not push the others out of the batch.  Last come runs
# whose parse was requested: they keep their place in the run queue, and have none in the batch.
# Each half is a range of the index of queued runs; IS NOT DISTINCT FROM would be none.
QUEUED = hot("""
    SELECT waiting.id, run_queue.dag_id, run_queue.backfill_id, waiting.parse_requested
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:backfill_ids AS bigint[]),
                  CAST(:free AS int[])) AS run_queue (dag_id, backfill_id, free)
     CROSS JOIN LATERAL (
           (SELECT id, run_after, NOT pinned AND parse_requested_at IS NOT NULL AS parse_requested
              FROM dag_run
             WHERE dag_id = run_queue.dag_id AND backfill_id = run_queue.backfill_id
               AND state = 'queued' AND run_after <= :now
               AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
             ORDER BY run_after, id
             LIMIT greatest(run_queue.free, 0))
            UNION ALL
           (SELECT id, run_after, NOT pinned AND parse_requested_at IS NOT NULL AS parse_requested
              FROM dag_run
             WHERE dag_id = run_queue.dag_id
               AND backfill_id IS NULL AND run_queue.backfill_id IS NULL
               AND state = 'queued' AND run_after <= :now
               AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
             ORDER BY backfill_id, run_after, id
             LIMIT greatest(run_queue.free, 0))) AS waiting
     ORDER BY waiting.parse_requested,
              row_number() OVER (PARTITION BY run_queue.dag_id, run_queue.backfill_id
                                 ORDER BY run_after, waiting.id), run_after, waiting.id
     LIMIT :limit
""")


# Run queues with queued runs are found by hopping through the index: that of the DAG's own runs
# comes last.  However many runs are queued, or have ended, this looks at few of them.  To
# order by all of its columns keeps the planner from taking any other.
FREE_RUN_SLOTS = hot("""
    SELECT dag.dag_id, run_queue.backfill_id,
           CASE WHEN NOT backfill.paused THEN backfill.max_active_runs ELSE 0 END AS most,
           (SELECT count(*) FROM dag_run
             WHERE dag_run.dag_id = dag.dag_id AND state = 'running'
               AND dag_run.backfill_id IS NOT DISTINCT FROM run_queue.backfill_id) AS running
      FROM unnest(CAST(:dag_ids AS text[])) AS dag (dag_id)
     CROSS JOIN LATERAL (
           WITH RECURSIVE run_queue AS (
               (SELECT backfill_id FROM dag_run
                 WHERE dag_id = dag.dag_id AND state = 'queued'
                 ORDER BY backfill_id, run_after, id LIMIT 1)
                UNION ALL
               SELECT following.backfill_id
                 FROM run_queue
                CROSS JOIN LATERAL (
                      (SELECT backfill_id FROM dag_run
                        WHERE dag_id = dag.dag_id AND state = 'queued'
                          AND dag_run.backfill_id > run_queue.backfill_id
                        ORDER BY backfill_id, run_after, id LIMIT 1)
                       UNION ALL
                      (SELECT backfill_id FROM dag_run
                        WHERE dag_id = dag.dag_id AND state = 'queued'
                          AND dag_run.backfill_id IS NULL AND run_queue.backfill_id IS NOT NULL
                        ORDER BY backfill_id, run_after, id LIMIT 1)
                      LIMIT 1) AS following
           )
           SELECT backfill_id FROM run_queue) AS run_queue
      LEFT JOIN backfill ON backfill.id = run_queue.backfill_id
""")


# The first tasks of most runs are known: they are scheduled with the run.  Otherwise, and when
# it runs anew, it is looked at as a whole.  The guard, here and in SETTLE, is a CASE: the planner
# cannot read all queued runs for each; nor all versions and their tasks, because of LATERAL.
START = hot("""
    WITH started AS (
        UPDATE dag_run AS run
           SET state = 'running', started_at = :now,
               deadline = CAST(:now AS timestamptz) + make_interval(secs => it.dagrun_timeout),
               unfinished = CASE WHEN NOT (it.settles OR it.again) THEN it.tasks END
          FROM (SELECT run.id, version.dagrun_timeout, version.settle_at_start AS settles,
                       coalesce((SELECT priority_class FROM backfill WHERE id = run.backfill_id), 0)
                       AS priority_class,
                       EXISTS (SELECT FROM task_instance WHERE dag_run_id = run.id) AS again,
                       (SELECT count(*) FROM dag_task WHERE version_id = version.id) AS tasks,
                       version.max_active_tasks_per_dagrun IS NOT NULL AS limited
                  FROM dag_run AS run
                 CROSS JOIN LATERAL (
                       SELECT * FROM dag_version WHERE id = run.version_id LIMIT 1) AS version
                 WHERE run.id = ANY (:ids)) AS it
         WHERE run.id = it.id AND CASE run.state WHEN 'queued' THEN true END
     RETURNING run.id, run.dag_id, run.version_id, it.settles OR it.again AS settles, it.again,
               it.limited, it.priority_class
    ), woken AS (
        INSERT INTO wake (dag_run_id) SELECT id FROM started WHERE settles
    )
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, pool, pool_slots, queue,
                               priority, rank, priority_class, limited, up_total, scheduled_at)
    SELECT started.id, started.dag_id, task.task_id,
           CASE WHEN task.starts AND NOT started.settles THEN 'scheduled' ELSE 'none' END,
           task.pool, task.pool_slots, task.queue, task.priority,
           extract(epoch FROM CAST(:now AS timestamptz))
           - task.priority * CAST(:aging AS numeric) + started.priority_class * 1e12,
           started.priority_class,
           started.limited OR started.priority_class > 0 OR task.max_active_tis_per_dag IS NOT NULL
                           OR task.max_active_tis_per_dagrun IS NOT NULL,
           task.upstreams,
           CASE WHEN task.starts AND NOT started.settles THEN CAST(:now AS timestamptz) END
      FROM started
     CROSS JOIN LATERAL (
           SELECT * FROM dag_task WHERE version_id = started.version_id OFFSET 0) AS task
     WHERE NOT started.again
        OR NOT EXISTS (SELECT FROM task_instance AS it
                        WHERE it.dag_run_id = started.id AND it.task_id = task.task_id)
     ORDER BY started.id, task.position
""")


def free_run_slots(
    conn: Connection, max_active_runs: Mapping[str, int]
) -> dict[str, dict[int | None, int]]:
    """Return how many more runs may be active in each run queue of these locked DAGs."""
    free: dict[str, dict[int | None, int]] = {}
    for row in conn.execute(FREE_RUN_SLOTS, {"dag_ids": list(max_active_runs)}):
        limit = row.most if row.backfill_id else max_active_runs[row.dag_id]
        free.setdefault(row.dag_id, {})[row.backfill_id] = limit - row.running
    return free


def queued(
    conn: Connection,
    free: Mapping[str, Mapping[int | None, int]],
    now: datetime,
    limit: int,
    scope: Scope,
) -> dict[str, list[QueuedRun]]:
    """Return the queued runs that find room in these run queues, oldest first, by locked DAG."""
    queues = [(dag_id, queue, room) for dag_id in free for queue, room in free[dag_id].items()]
    parameters = {
        "dag_ids": [dag_id for dag_id, _, _ in queues],
        "backfill_ids": [queue for _, queue, _ in queues],
        "free": [room for _, _, room in queues],
    }
    waiting: dict[str, list[QueuedRun]] = {}
    given = {"now": now, "limit": limit, **scope.parameters()}
    for row in conn.execute(QUEUED, parameters | given):
        waiting.setdefault(row.dag_id, []).append(
            QueuedRun(row.id, row.backfill_id, row.parse_requested)
        )
    return waiting


def start(conn: Connection, ids: Sequence[int], now: datetime, aging: float) -> None:
    """Start runs: they get their task instances, and the first of these are scheduled."""
    conn.execute(START, {"ids": list(ids), "now": now, "aging": aging})


# Run queues are found by hopping through the index of queued runs, that of the DAG's own runs the
# last of each DAG; to order by all of its columns keeps the planner from taking any other.  A run
# queue in which all that find room wait for a requested parse has nothing to start.
LOCK_STARTING = hot("""
    WITH RECURSIVE run_queue AS (
        (SELECT dag_id, backfill_id FROM dag_run
          WHERE state = 'queued' ORDER BY dag_id, backfill_id, run_after, id LIMIT 1)
         UNION ALL
        SELECT following.*
          FROM run_queue
         CROSS JOIN LATERAL (
               (SELECT dag_id, backfill_id FROM dag_run
                 WHERE state = 'queued' AND dag_run.dag_id = run_queue.dag_id
                   AND dag_run.backfill_id > run_queue.backfill_id
                 ORDER BY backfill_id, run_after, id LIMIT 1)
                UNION ALL
               (SELECT dag_id, backfill_id FROM dag_run
                 WHERE state = 'queued' AND dag_run.dag_id = run_queue.dag_id
                   AND dag_run.backfill_id IS NULL AND run_queue.backfill_id IS NOT NULL
                 ORDER BY backfill_id, run_after, id LIMIT 1)
                UNION ALL
               (SELECT dag_id, backfill_id FROM dag_run
                 WHERE state = 'queued' AND dag_run.dag_id > run_queue.dag_id
                 ORDER BY dag_id, backfill_id, run_after, id LIMIT 1)
               LIMIT 1) AS following
    )
    SELECT its.dag_id, its.max_active_runs
      FROM run_queue
     CROSS JOIN LATERAL (
           SELECT dag_id, max_active_runs
             FROM dag
            CROSS JOIN LATERAL (
                  SELECT coalesce((SELECT CASE WHEN paused THEN 0 ELSE max_active_runs END
                                     FROM backfill WHERE id = run_queue.backfill_id),
                                  dag.max_active_runs)
                         - (SELECT count(*) FROM dag_run AS active
                             WHERE active.dag_id = run_queue.dag_id AND active.state = 'running'
                               AND active.backfill_id IS NOT DISTINCT FROM run_queue.backfill_id)
                         AS free
                  OFFSET 0) AS room
            WHERE dag.dag_id = run_queue.dag_id AND active AND NOT paused
              AND coalesce(
                  (SELECT true
                     FROM (SELECT pinned OR parse_requested_at IS NULL AS moves FROM dag_run AS run
                            WHERE run.dag_id = run_queue.dag_id AND run.state = 'queued'
                              AND run.backfill_id = run_queue.backfill_id AND run_after <= :now
                              AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
                            ORDER BY run_after, id
                            LIMIT greatest(room.free, 0)) AS first
                    WHERE moves LIMIT 1),
                  (SELECT true
                     FROM (SELECT pinned OR parse_requested_at IS NULL AS moves FROM dag_run AS run
                            WHERE run.dag_id = run_queue.dag_id AND run.state = 'queued'
                              AND run.backfill_id IS NULL AND run_queue.backfill_id IS NULL
                              AND run_after <= :now
                              AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
                            ORDER BY backfill_id, run_after, id
                            LIMIT greatest(room.free, 0)) AS first
                    WHERE moves LIMIT 1))
              AND NOT dag_id = ANY (CAST(:aside AS text[]))
              AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
            LIMIT 1
              FOR NO KEY UPDATE OF dag SKIP LOCKED) AS its
     LIMIT :limit
""")


LOCK_QUEUED = hot("""
    SELECT id, pinned, run_type, run_after FROM dag_run
     WHERE id = ANY (:ids) AND state = 'queued'
       AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
     ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
""")


class Startable(NamedTuple):
    """Locked runs that may start, and those whose DAG file is to be parsed before.

    `due` tells since when those were due that may start and are of a schedule.
    """

    ids: list[int]
    unpinned: list[int]
    due: list[datetime]


def lock_starting(
    conn: Connection, now: datetime, limit: int, scope: Scope, choice: KeyFilter[str] = ANY_DAG
) -> dict[str, int]:
    """Lock DAGs that have a queued run in scope and room for it; return their max_active_runs."""
    parameters = {"now": now, "limit": limit, **scope.parameters(), **choice.parameters()}
    rows = conn.execute(LOCK_STARTING, parameters)
    return {row.dag_id: row.max_active_runs for row in rows}


def lock_queued(conn: Connection, ids: Sequence[int], scope: Scope) -> Startable:
    """Lock those of these runs that are queued and that nobody else holds or has reserved."""
    rows = conn.execute(LOCK_QUEUED, {"ids": list(ids), **scope.parameters()}).all()
    pinned = [row for row in rows if row.pinned]
    return Startable(
        [row.id for row in pinned],
        [row.id for row in rows if not row.pinned],
        [row.run_after for row in pinned if row.run_type == RunType.SCHEDULED],
    )
