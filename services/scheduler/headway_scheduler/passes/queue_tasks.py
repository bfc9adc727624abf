"""The critical section: scheduled task instances get their place in a pool."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from headway.db import dags, line, pools, processes, queues, tasks
from headway.db.choice import Choice
from headway.decide.admit import Admission, Budget, Limit, admit
from headway.runtime.seam import nothing
from headway_scheduler.replica import Replica

NOTHING = Admission([], {})


def queue_tasks(
    replica: Replica,
    pool: str,
    now: datetime,
    before_commit: Callable[[], None] = nothing,
) -> Admission:
    """Queue ready tasks of one pool within every limit, at most `max_tis_per_query`.

    Locks are taken in one order everywhere (pool, task, DAG) and a taken one is
    skipped, so schedulers never wait for each other.
    """
    settings, scheduler = replica.settings, replica.me.id

    def queue(choice: Choice[str], taken: list[str]) -> Admission:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me, repeatable=True)
            locked = pools.lock(conn, pool)
            if locked is None or locked.free < 1:
                return NOTHING
            free = queues.free(conn, scheduler, settings.parallelism)
            most = min(settings.max_tis_per_query, free.get(Budget(Limit.SCHEDULER, ()), 0))
            ready = line.pick(conn, locked, _served(free), most, choice)
            taken += dict.fromkeys(task.dag_id for task in ready)
            places = dags.lock_places(conn, taken)
            free |= line.free_places(conn, places, ready)
            free[Budget(Limit.POOL, (pool,))] = locked.free
            admission = admit(ready, free)
            tasks.queue(conn, admission.task_ids, now, scheduler)
            before_commit()
        return admission

    return _together(replica.queueing.each(replica.engine, replica.me, now, queue))


def _together(done: Iterable[Admission]) -> Admission:
    admitted: list[int] = []
    refused: dict[int, Budget] = {}
    for admission in done:
        admitted += admission.task_ids
        refused |= admission.refused
    return Admission(admitted, refused)


def _served(free: Mapping[Budget, int]) -> dict[str, int]:
    return {str(it.owner[0]): left for it, left in free.items() if it.limit is Limit.QUEUE}
