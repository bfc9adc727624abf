"""SQL on the queue order: which scheduled task instances of a pool come next.

Every limit is applied before LIMIT, so that a batch never fills with tasks that cannot
start.  What is picked here is locked, and judged again by `decide.admit` under the locks
of pool and DAG; what is picked needlessly costs nothing but the look.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.scheduling.pools import LockedPool
from headway.db.scheduling.scope import ANY_DAG, KeyFilter
from headway.decide.scheduling.admit import Budget, Limit, ReadyTask

LOOK: Final = 2000
"""First tasks in queue order that are read before DAGs are sought by hopping."""

# The head of a queue is read in queue order, from DAGs that have places, and no further than a
# batch needs.  If DAGs at the head have fewer places than tasks, all of the head is read.  If that
# does not give a batch, because of tasks of full DAGs or of too many slots, DAGs are found by
# hopping through the index, and from each only as many tasks are taken as it has places: however
# many tasks of a DAG wait, the DAG costs one hop.
PLAIN = hot("""
    WITH RECURSIVE live AS MATERIALIZED (
        SELECT coalesce(jsonb_object_agg(dag_id, count), '{}') AS counts
          FROM (SELECT dag_id, count(*) FROM task_attempt
                 WHERE ended_at IS NULL GROUP BY dag_id) AS its
    ), head AS MATERIALIZED (
        SELECT id, dag_id, rank, pool_slots FROM task_instance
         WHERE state = 'scheduled' AND NOT limited AND pool = :pool AND queue = :queue
         ORDER BY rank, id
         LIMIT :look
    ), open AS NOT MATERIALIZED (
        SELECT head.id, head.rank, head.dag_id, its.free
          FROM head
         CROSS JOIN LATERAL (
               SELECT max_active_tasks
                      - coalesce(CAST((SELECT counts FROM live) ->> dag_id AS int), 0) AS free
                 FROM dag WHERE dag_id = head.dag_id AND NOT paused
               OFFSET 0) AS its
         WHERE its.free > 0 AND head.pool_slots <= :free
           AND NOT head.dag_id = ANY (CAST(:aside AS text[]))
           AND (CAST(:only AS text[]) IS NULL OR head.dag_id = ANY (CAST(:only AS text[])))
    ), first AS MATERIALIZED (
        SELECT * FROM open LIMIT :limit
    ), fitting AS MATERIALIZED (
        SELECT id, rank
          FROM (SELECT first.*, row_number() OVER (PARTITION BY dag_id ORDER BY rank, id) AS nth
                  FROM first) AS numbered
         WHERE nth <= free
    ), further AS MATERIALIZED (
        SELECT id, rank
          FROM (SELECT open.*, row_number() OVER (PARTITION BY dag_id ORDER BY rank, id) AS nth
                  FROM open
                 WHERE (SELECT count(*) FROM first) = :limit
                   AND (SELECT count(*) FROM fitting) < :limit) AS numbered
         WHERE nth <= free
         ORDER BY rank, id
         LIMIT :limit
    ), blocked AS MATERIALIZED (
        SELECT CASE WHEN (SELECT count(*) FROM fitting) = :limit THEN false
                    WHEN (SELECT count(*) FROM further) = :limit THEN false
                    ELSE (SELECT count(*) FROM head) = :look END AS it
    ), hop AS (
        (SELECT dag_id FROM task_instance
          WHERE state = 'scheduled' AND NOT limited AND pool = :pool AND (SELECT it FROM blocked)
          ORDER BY dag_id LIMIT 1)
         UNION ALL
        SELECT (SELECT dag_id FROM task_instance AS task
                 WHERE state = 'scheduled' AND NOT limited AND pool = :pool
                   AND task.dag_id > hop.dag_id
                 ORDER BY dag_id LIMIT 1)
          FROM hop WHERE hop.dag_id IS NOT NULL
    ), place AS MATERIALIZED (
        SELECT its.dag_id, least(its.free, :limit) AS free
          FROM hop
         CROSS JOIN LATERAL (
               SELECT dag_id, max_active_tasks
                      - coalesce(CAST((SELECT counts FROM live) ->> dag_id AS int), 0) AS free
                 FROM dag WHERE dag_id = hop.dag_id AND NOT paused
               OFFSET 0) AS its
         WHERE its.free > 0
           AND NOT its.dag_id = ANY (CAST(:aside AS text[]))
           AND (CAST(:only AS text[]) IS NULL OR its.dag_id = ANY (CAST(:only AS text[])))
    ), next AS MATERIALIZED (
        SELECT id, rank FROM fitting
         UNION
        SELECT id, rank FROM further
         UNION
        (SELECT it.id, it.rank
          FROM place
         CROSS JOIN LATERAL (
               SELECT id, rank FROM task_instance
                WHERE state = 'scheduled' AND NOT limited AND pool = :pool
                  AND dag_id = place.dag_id AND pool_slots <= :free AND queue = :queue
                ORDER BY rank, id
                LIMIT place.free) AS it)
         ORDER BY rank, id
         LIMIT :limit
    )
    SELECT task.id, dag_id, dag_run_id, task_id, pool, pool_slots, queue, rank, priority_class,
           CASE WHEN priority_class > 0
                THEN (SELECT backfill_id FROM dag_run WHERE id = dag_run_id) END AS backfill_id
      FROM (SELECT id FROM next) AS next
      JOIN task_instance AS task ON task.id = next.id
     WHERE task.state = 'scheduled'
     ORDER BY task.rank, task.id
       FOR NO KEY UPDATE OF task SKIP LOCKED
""")

# The same for tasks under a limit that is narrower than their DAG's, as all of backfills are, by
# hopping from DAG to DAG that has places, in it from run to run that has, and in that from task
# to task.  A backfill that has spent its share is left out, and what of others is for queues
# that are not idle.  They are cut back to what each task, run and DAG may have, in this order; a
# task that is cut for another limit's sake is found in the next pass.  A LATERAL with a LIMIT
# leaves the planner no choice but to look one row up by its key, whatever its statistics.
LIMITED = hot("""
    WITH RECURSIVE live AS MATERIALIZED (
        SELECT it.dag_id, task.dag_run_id, task.task_id, count(*) AS count
          FROM task_attempt AS it
         CROSS JOIN LATERAL (
               SELECT dag_run_id, task_id FROM task_instance
                WHERE id = it.task_instance_id LIMIT 1) AS task
         WHERE it.ended_at IS NULL
         GROUP BY it.dag_id, task.dag_run_id, task.task_id
    ), hop AS (
        (SELECT dag_id FROM task_instance
          WHERE state = 'scheduled' AND limited AND pool = :pool
          ORDER BY dag_id LIMIT 1)
         UNION ALL
        SELECT (SELECT dag_id FROM task_instance AS task
                 WHERE state = 'scheduled' AND limited AND pool = :pool
                   AND task.dag_id > hop.dag_id
                 ORDER BY dag_id LIMIT 1)
          FROM hop WHERE hop.dag_id IS NOT NULL
    ), place AS MATERIALIZED (
        SELECT dag.dag_id, dag.max_active_tasks - coalesce(live.count, 0) AS in_dag
          FROM hop
          JOIN dag USING (dag_id)
          LEFT JOIN (SELECT dag_id, sum(count) AS count FROM live GROUP BY dag_id) AS live
         USING (dag_id)
         WHERE NOT paused AND dag.max_active_tasks > coalesce(live.count, 0)
           AND NOT dag.dag_id = ANY (CAST(:aside AS text[]))
           AND (CAST(:only AS text[]) IS NULL OR dag.dag_id = ANY (CAST(:only AS text[])))
    ), run AS MATERIALIZED (
        SELECT place.dag_id, in_dag, hop.dag_run_id, version_id, most AS per_run,
               CASE WHEN backfill_id IS NULL THEN CAST(:queues AS text[])
                    ELSE CAST(:idle AS text[]) END AS queues,
               most - coalesce(live.count, 0) AS in_run
          FROM place
         CROSS JOIN LATERAL (
               WITH RECURSIVE hop AS (
                   (SELECT dag_run_id FROM task_instance
                     WHERE state = 'scheduled' AND limited AND pool = :pool
                       AND dag_id = place.dag_id
                     ORDER BY dag_run_id LIMIT 1)
                    UNION ALL
                   SELECT (SELECT dag_run_id FROM task_instance AS task
                            WHERE state = 'scheduled' AND limited AND pool = :pool
                              AND dag_id = place.dag_id AND task.dag_run_id > hop.dag_run_id
                            ORDER BY dag_run_id LIMIT 1)
                     FROM hop WHERE hop.dag_run_id IS NOT NULL
               )
               SELECT dag_run_id FROM hop WHERE dag_run_id IS NOT NULL) AS hop
         CROSS JOIN LATERAL (
               SELECT version_id, backfill_id FROM dag_run
                WHERE id = hop.dag_run_id LIMIT 1) AS its
         CROSS JOIN LATERAL (
               SELECT max_active_tasks_per_dagrun AS most FROM dag_version
                WHERE id = its.version_id LIMIT 1) AS version
          LEFT JOIN (SELECT dag_run_id, sum(count) AS count FROM live GROUP BY dag_run_id) AS live
         USING (dag_run_id)
         WHERE (most IS NULL OR most > coalesce(live.count, 0))
           AND NOT coalesce(backfill_id, 0) = ANY (CAST(:spent AS bigint[]))
    ), free AS MATERIALIZED (
        SELECT run.*, hop.task_id, per_dag, per_dagrun,
               per_dag - coalesce(of_dag.count, 0) AS of_task,
               per_dagrun - coalesce(of_run.count, 0) AS of_task_in_run
          FROM run
         CROSS JOIN LATERAL (
               WITH RECURSIVE hop AS (
                   (SELECT task_id FROM task_instance
                     WHERE state = 'scheduled' AND limited AND pool = :pool
                       AND (dag_id, dag_run_id) = (run.dag_id, run.dag_run_id)
                     ORDER BY task_id LIMIT 1)
                    UNION ALL
                   SELECT (SELECT task_id FROM task_instance AS task
                            WHERE state = 'scheduled' AND limited AND pool = :pool
                              AND (dag_id, dag_run_id) = (run.dag_id, run.dag_run_id)
                              AND task.task_id > hop.task_id
                            ORDER BY task_id LIMIT 1)
                     FROM hop WHERE hop.task_id IS NOT NULL
               )
               SELECT task_id FROM hop WHERE task_id IS NOT NULL) AS hop
         CROSS JOIN LATERAL (
               SELECT max_active_tis_per_dag AS per_dag, max_active_tis_per_dagrun AS per_dagrun
                 FROM dag_task
                WHERE (version_id, task_id) = (run.version_id, hop.task_id) LIMIT 1) AS its
          LEFT JOIN (SELECT dag_id, task_id, sum(count) AS count FROM live
                      GROUP BY dag_id, task_id) AS of_dag
                 ON (of_dag.dag_id, of_dag.task_id) = (run.dag_id, hop.task_id)
          LEFT JOIN live AS of_run
                 ON (of_run.dag_run_id, of_run.task_id) = (run.dag_run_id, hop.task_id)
    ), found AS (
        SELECT it.id, it.rank, free.*,
               row_number() OVER (PARTITION BY free.dag_id, task_id ORDER BY it.rank, it.id) AS nth
          FROM free
         CROSS JOIN LATERAL (
               SELECT id, rank FROM task_instance
                WHERE state = 'scheduled' AND limited AND pool = :pool
                  AND (dag_id, dag_run_id, task_id)
                      = (free.dag_id, free.dag_run_id, free.task_id)
                  AND pool_slots <= :free AND queue = ANY (free.queues)
                ORDER BY rank, id
                LIMIT greatest(0, least(in_dag, in_run, of_task, of_task_in_run, :limit))) AS it
    ), by_run AS (
        SELECT found.*, row_number() OVER (PARTITION BY dag_run_id ORDER BY rank, id) AS nth_of_run
          FROM found WHERE of_task IS NULL OR nth <= of_task
    ), by_dag AS (
        SELECT by_run.*, row_number() OVER (PARTITION BY dag_id ORDER BY rank, id) AS nth_of_dag
          FROM by_run WHERE in_run IS NULL OR nth_of_run <= in_run
    ), next AS MATERIALIZED (
        SELECT id, per_run, per_dag, per_dagrun
          FROM by_dag WHERE nth_of_dag <= in_dag ORDER BY rank, id LIMIT :limit
    )
    SELECT task.id, dag_id, dag_run_id, task_id, pool, pool_slots, queue, rank, priority_class,
           CASE WHEN priority_class > 0
                THEN (SELECT backfill_id FROM dag_run WHERE id = dag_run_id) END AS backfill_id,
           per_run, per_dag, per_dagrun
      FROM next
      JOIN task_instance AS task ON task.id = next.id
     WHERE task.state = 'scheduled'
     ORDER BY task.rank, task.id
       FOR NO KEY UPDATE OF task SKIP LOCKED
""")


def pick(
    conn: Connection,
    pool: LockedPool,
    free: Mapping[Budget, int],
    limit: int,
    choice: KeyFilter[str] = ANY_DAG,
    spent: Collection[int] = (),
) -> list[ReadyTask]:
    """Lock the tasks of a pool that come next and may fit, in their queue order.

    At most `limit` without a limit narrower than their DAG's, and as many with one; none of the
    backfills that have `spent` their share.  `free` says how many more tasks each queue may
    take; each is asked for as many as it may take, so that those of one do not fill the batch in
    the place of others.
    """
    queues = {
        str(budget.owner[0]): left for budget, left in free.items() if budget.limit is Limit.QUEUE
    }
    idle = {
        budget.owner[0] for budget, left in free.items() if budget.limit is Limit.SPARE and left > 0
    }
    plain: list[Sequence[Any]] = []
    limited: list[Sequence[Any]] = []
    for queue in sorted(queues):
        most = min(queues[queue], limit)
        if most < 1:
            continue
        parameters = {"pool": pool.name, "free": pool.free, "limit": most} | choice.parameters()
        look = max(LOOK, 2 * most)
        plain += conn.execute(PLAIN, parameters | {"queue": queue, "look": look})
        if pool.limited:
            parameters |= {"queues": [queue], "spent": sorted(spent)}
            parameters |= {"idle": [queue] if queue in idle else []}
            limited += conn.execute(LIMITED, parameters)
    first = [
        in_order(ReadyTask(*row) for row in rows)[: max(limit, 0)] for rows in (plain, limited)
    ]
    return in_order(chain.from_iterable(first))


def in_order(tasks: Iterable[ReadyTask]) -> list[ReadyTask]:
    """Return tasks in their queue order."""
    return sorted(tasks, key=lambda task: (task.rank, task.id))
