"""SQL on the queue order as it is looked at: what waits, what is left, who has the rest.

What is left is counted by the scheduler's own statements, without its locks.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, text

from headway.db.scheduling import backfill_shares, free_slots, pools, queues
from headway.decide.explain.explanation import Holder, QueuePlace
from headway.decide.explain.ready import WaitingTask
from headway.decide.explain.snapshot import ProcessRow, TaskRow
from headway.decide.scheduling.admit import Budget, Limit, ReadyTask
from headway.domain.errors import RunNotFoundError
from headway.domain.hints import Action, act, hint

MOST_HOLDERS: Final = 20
"""How many of those are named that hold something."""

PER_DAG: Final = 1_000
"""How many tasks of one DAG are looked at in the queue order of one pool."""

PER_POOL: Final = 10_000
"""How many tasks are looked at in the queue order of one pool."""

# The tasks of a paused DAG stand in no one's way.  Those under a narrower limit have an
# index of their own, hence the two halves.
QUEUE_ORDER = text("""
    WITH waiting AS (
        SELECT id, dag_id, rank FROM task_instance
         WHERE state = 'scheduled' AND NOT limited AND pool = :pool
         UNION ALL
        SELECT id, dag_id, rank FROM task_instance
         WHERE state = 'scheduled' AND limited AND pool = :pool
    ), nth AS (
        SELECT id, rank, row_number() OVER (PARTITION BY dag_id ORDER BY rank, id) AS nth
          FROM waiting
          JOIN dag USING (dag_id)
         WHERE NOT dag.paused
           AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
           AND (CAST(:before AS float8) IS NULL OR (rank, id) < (:before, :task))
    ), next AS MATERIALIZED (
        SELECT id FROM nth WHERE nth <= :per_dag ORDER BY rank, id LIMIT :limit
    )
    SELECT task.id, task.dag_id, task.dag_run_id, task.task_id, task.pool, task.pool_slots,
           task.queue, task.rank, task.priority_class, run.backfill_id,
           CASE WHEN limited THEN version.max_active_tasks_per_dagrun END AS per_run,
           CASE WHEN limited THEN definition.max_active_tis_per_dag END AS tis_per_dag,
           CASE WHEN limited THEN definition.max_active_tis_per_dagrun END AS tis_per_dagrun,
           run.run_id, task.map_index
      FROM next
      JOIN task_instance AS task ON task.id = next.id
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag_version AS version ON version.id = run.version_id
      LEFT JOIN dag_task AS definition
        ON (definition.version_id, definition.task_id) = (version.id, task.task_id)
     ORDER BY task.rank, task.id
""")

READY = text("""
    SELECT task.id, task.dag_id, task.dag_run_id, task.task_id, task.pool, task.pool_slots,
           task.queue, task.rank, task.priority_class, run.backfill_id,
           CASE WHEN limited THEN version.max_active_tasks_per_dagrun END AS per_run,
           CASE WHEN limited THEN definition.max_active_tis_per_dag END AS tis_per_dag,
           CASE WHEN limited THEN definition.max_active_tis_per_dagrun END AS tis_per_dagrun
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag_version AS version ON version.id = run.version_id
      LEFT JOIN dag_task AS definition
        ON (definition.version_id, definition.task_id) = (version.id, task.task_id)
     WHERE task.id = :task
""")

PLACE = text("""
    WITH waiting AS (
        SELECT id, dag_id, rank FROM task_instance
         WHERE state = 'scheduled' AND NOT limited AND pool = :pool
         UNION ALL
        SELECT id, dag_id, rank FROM task_instance
         WHERE state = 'scheduled' AND limited AND pool = :pool
    )
    SELECT count(*) FILTER (WHERE NOT paused AND (rank, id) < (:rank, :task)) AS before,
           count(*) FILTER (WHERE NOT paused OR id = :task) AS waiting,
           count(*) FILTER (WHERE paused) AS paused
      FROM waiting
      JOIN dag USING (dag_id)
""")

PLACE_IN_QUEUE = text("""
    SELECT count(*) FILTER (WHERE (rank, task_instance_id) < (:rank, :task)) AS before,
           count(*) AS waiting
      FROM task_attempt
     WHERE phase = 'queued' AND queue = :queue
""")

POOL_SLOTS = text("SELECT name, slots FROM pool WHERE name = ANY (CAST(:names AS text[]))")

PLACES = text("""
    SELECT dag_id, max_active_tasks FROM dag WHERE dag_id = ANY (CAST(:dag_ids AS text[]))
""")

QUEUE_SLOTS_IN_USE = text("""
    SELECT its.queue AS name, count(it.queue) AS in_use
      FROM unnest(CAST(:names AS text[])) AS its (queue)
      LEFT JOIN task_attempt AS it ON it.queue = its.queue AND it.ended_at IS NULL
     GROUP BY its.queue
""")

POOL_SLOTS_IN_USE = text("""
    SELECT its.pool AS name,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt AS it
             WHERE it.pool = its.pool AND ended_at IS NULL)
           + (SELECT coalesce(sum(task.pool_slots), 0)
                FROM task_instance AS task
                JOIN pool ON pool.name = task.pool AND pool.include_deferred
               WHERE task.pool = its.pool AND task.state = 'deferred') AS in_use
      FROM unnest(CAST(:names AS text[])) AS its (pool)
""")

# A deferred task holds slots of a pool that counts it, and nothing else.
HOLDERS = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state,
           it.pool_slots AS slots, coalesce(it.started_at, it.queued_at) AS since,
           process.hostname AS worker
      FROM task_attempt AS it
      JOIN task_instance AS task ON task.id = it.task_instance_id
      JOIN dag_run AS run ON run.id = task.dag_run_id
      LEFT JOIN process ON process.id = it.process_id
     WHERE it.ended_at IS NULL
       AND (CAST(:pool AS text) IS NULL OR it.pool = :pool)
       AND (CAST(:queue AS text) IS NULL OR it.queue = :queue)
       AND (CAST(:dag_id AS text) IS NULL OR it.dag_id = :dag_id)
       AND (CAST(:run AS bigint) IS NULL OR task.dag_run_id = :run)
       AND (CAST(:backfill AS bigint) IS NULL OR run.backfill_id = :backfill)
       AND (CAST(:task_id AS text) IS NULL OR task.task_id = :task_id)
       AND (CAST(:workers AS bigint[]) IS NULL OR it.process_id = ANY (:workers))
     UNION ALL
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state,
           task.pool_slots, task.started_at, NULL
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN pool ON pool.name = task.pool AND pool.include_deferred
     WHERE task.state = 'deferred' AND task.pool = :pool
     ORDER BY since, dag_id, run_id, task_id, map_index
     LIMIT :limit
""")


def ready(conn: Connection, task: int) -> ReadyTask:
    """Return a scheduled task instance with the limits that apply to it.

    NotFoundError when it has been deleted meanwhile.
    """
    row = conn.execute(READY, {"task": task}).one_or_none()
    if row is None:
        raise RunNotFoundError(
            "The run has just been deleted.",
            hint=hint(act(Action.LIST_RUNS), " shows those left."),
        )
    return ReadyTask(*row)


def waiting(
    conn: Connection,
    pool: str,
    before: ReadyTask | None = None,
    bundles: Sequence[str] | None = None,
) -> list[WaitingTask]:
    """Return who waits in the queue order of a pool, in order: all of them, or those before a task.

    With `bundles`, only tasks of DAGs of these.  At most `PER_DAG` of each DAG, none of a paused
    one, and at most `PER_POOL` in all.
    """
    rows = conn.execute(
        QUEUE_ORDER,
        {
            "pool": pool,
            "bundles": None if bundles is None else list(bundles),
            "before": before and before.rank,
            "task": before and before.id,
            "per_dag": PER_DAG,
            "limit": PER_POOL,
        },
    )
    return [WaitingTask(ReadyTask(*row[:-2]), row.run_id, row.map_index) for row in rows]


def length(conn: Connection, pool: str) -> tuple[int, int]:
    """Return how many tasks wait in the queue order of a pool, and how many more of paused DAGs."""
    row = conn.execute(PLACE, {"pool": pool, "rank": 0.0, "task": -1}).one()
    return row.waiting, row.paused


def place(conn: Connection, task: ReadyTask) -> QueuePlace:
    """Return the place of a task in the queue order of its pool."""
    parameters = {"pool": task.pool, "rank": task.rank, "task": task.id}
    row = conn.execute(PLACE, parameters).one()
    return QueuePlace(f"the pool {task.pool}", row.before + 1, row.waiting)


def place_in_queue(conn: Connection, task: TaskRow) -> QueuePlace:
    """Return the place of a queued task in its queue."""
    parameters = {"queue": task.queue, "rank": task.rank, "task": task.id}
    row = conn.execute(PLACE_IN_QUEUE, parameters).one()
    return QueuePlace(f"the queue {task.queue}", row.before + 1, row.waiting)


def free(
    conn: Connection, schedulers: Sequence[ProcessRow], tasks: Sequence[ReadyTask]
) -> dict[Budget, int]:
    """Return what is left of the budgets that these tasks draw on.

    That of the schedulers is what all of them together have left: each queues its share.
    """
    found = queues.free(conn, 0, 0)
    found[Budget(Limit.SCHEDULER, ())] = sum(
        max(process.slots - process.busy, 0) for process in schedulers
    )
    for pool in {task.pool for task in tasks}:
        for row in conn.execute(pools.FREE, {"name": pool}):
            found[Budget(Limit.POOL, (pool,))] = int(row.free)
            found |= backfill_shares.free(conn, pool, int(row.free), tasks)
    rows = conn.execute(PLACES, {"dag_ids": sorted({task.dag_id for task in tasks})})
    return found | free_slots.free(conn, {row.dag_id: row.max_active_tasks for row in rows}, tasks)


def limits(
    conn: Connection, schedulers: Sequence[ProcessRow], tasks: Sequence[ReadyTask]
) -> dict[Budget, int]:
    """Return how much the budgets have in all that these tasks draw on."""
    found = {Budget(Limit.SCHEDULER, ()): sum(process.slots for process in schedulers)}
    for row in conn.execute(POOL_SLOTS, {"names": sorted({task.pool for task in tasks})}):
        found[Budget(Limit.POOL, (row.name,))] = row.slots
    for row in conn.execute(PLACES, {"dag_ids": sorted({task.dag_id for task in tasks})}):
        found[Budget(Limit.DAG, (row.dag_id,))] = row.max_active_tasks
    served = queues.free(conn, 0, 0)
    for queue, in_use in queue_slots_in_use(conn, {task.queue for task in tasks}).items():
        budget = Budget(Limit.QUEUE, (queue,))
        if budget in served:
            found[budget] = served[budget] + in_use
            found[Budget(Limit.SPARE, (queue,))] = found[budget] // 2
    return found | backfill_shares.limits(conn, tasks) | _narrower(tasks)


def queue_slots_in_use(conn: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return how many attempts of these queues are under way."""
    rows = conn.execute(QUEUE_SLOTS_IN_USE, {"names": sorted(names)})
    return {row.name: row.in_use for row in rows}


def pool_slots_in_use(conn: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return how many slots are in use of pools of these names, be there such or not."""
    rows = conn.execute(POOL_SLOTS_IN_USE, {"names": sorted(names)})
    return {row.name: int(row.in_use) for row in rows}


def holders(conn: Connection, budget: Budget) -> list[Holder]:
    """Return the first of those that have taken of a budget, the longest first."""
    return _holders(conn, dict(zip(_FILTERS[budget.limit], budget.owner, strict=True)))


def on_workers(conn: Connection, workers: Iterable[ProcessRow]) -> list[Holder]:
    """Return the first of those that these workers have claimed, the longest first."""
    return _holders(conn, {"workers": [worker.id for worker in workers]})


_FILTERS: Final[Mapping[Limit, Sequence[str]]] = {
    Limit.POOL: ("pool",),
    Limit.QUEUE: ("queue",),
    Limit.SCHEDULER: (),
    Limit.DAG: ("dag_id",),
    Limit.RUN: ("run",),
    Limit.TASK: ("dag_id", "task_id"),
    Limit.TASK_IN_RUN: ("run", "task_id"),
    Limit.BACKFILL: ("pool", "backfill"),
    Limit.SPARE: ("queue",),
}


def _holders(conn: Connection, wanted: Mapping[str, object]) -> list[Holder]:
    names = ("pool", "queue", "dag_id", "run", "task_id", "workers", "backfill")
    parameters = {**dict.fromkeys(names), **wanted, "limit": MOST_HOLDERS}
    return [Holder(**row) for row in conn.execute(HOLDERS, parameters).mappings()]


def _narrower(tasks: Iterable[ReadyTask]) -> dict[Budget, int]:
    found: dict[Budget, int] = {}
    for task in tasks:
        if task.per_run is not None:
            found[Budget(Limit.RUN, (task.dag_run_id,))] = task.per_run
        if task.tis_per_dag is not None:
            found[Budget(Limit.TASK, (task.dag_id, task.task_id))] = task.tis_per_dag
        if task.tis_per_dagrun is not None:
            found[Budget(Limit.TASK_IN_RUN, (task.dag_run_id, task.task_id))] = task.tis_per_dagrun
    return found
