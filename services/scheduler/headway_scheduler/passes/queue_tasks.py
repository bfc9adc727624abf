"""The critical section: scheduled task instances get their place in a pool."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection

from headway.db.core import processes
from headway.db.scheduling import (
    backfill_shares,
    dags,
    free_slots,
    pools,
    queues,
    ready_tasks,
    tasks,
)
from headway.db.scheduling.pools import LockedPool
from headway.db.scheduling.scope import KeyFilter
from headway.decide.scheduling.admit import Admission, Budget, Limit, ReadyTask, admit
from headway.decide.scheduling.share import spent
from headway.metrics.scheduler import CRITICAL_SECTION_SKIPS, TASKS_QUEUED, TASKS_REFUSED
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica


class Queued(NamedTuple):
    """The tasks that were queued, and by which budget others were refused.

    There may be `more` for the next pass: where another scheduler had the pool or a DAG (or the
    pool is gone), a batch was full, or tasks are limited, which may have been cut for one
    limit's sake while others are behind them.
    """

    task_ids: list[int]
    refused: Mapping[int, Budget]
    more: bool


NOTHING: Final = Queued([], {}, more=False)
BUSY: Final = Queued([], {}, more=True)


def queue_tasks(
    replica: Replica,
    pool: str,
    now: datetime,
    before_commit: Callable[[], None] = nothing,
) -> Queued:
    """Queue ready tasks of one pool within every limit, at most `max_tis_per_query`.

    Locks are taken in one order everywhere (pool, task, DAG) and a taken one is
    skipped, so schedulers never wait for each other.
    """
    settings, scheduler = replica.settings, replica.me.id

    def queue(choice: KeyFilter[str], locked_keys: list[str]) -> Queued:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me, repeatable=True)
            locked = pools.lock(conn, pool)
            if locked is None:
                CRITICAL_SECTION_SKIPS.inc(pool)
                return BUSY
            if locked.free < 1:
                return NOTHING
            free = queues.free(conn, scheduler, settings.parallelism)
            most = min(settings.max_tis_per_query, free.get(Budget(Limit.SCHEDULER, ()), 0))
            ready, shares = _pick(conn, locked, free, most, choice)
            if not ready:  # or all that workers may read ahead is queued
                return NOTHING
            locked_keys += dict.fromkeys(task.dag_id for task in ready)
            locked_dags = dags.lock_places(conn, locked_keys)
            free |= free_slots.free(conn, locked_dags, ready)
            free[Budget(Limit.POOL, (pool,))] = locked.free
            free |= shares
            admission = admit(ready, free)
            tasks.queue(conn, admission.task_ids, now, scheduler)
            before_commit()
        _count(admission)
        more = bool(admission.refused) or locked.limited or len(ready) >= most
        return Queued(admission.task_ids, admission.refused, more)

    return _together(replica.queueing.each(replica.engine, replica.me, now, queue))


def _count(admission: Admission) -> None:
    TASKS_QUEUED.inc(by=len(admission.task_ids))
    for budget in admission.refused.values():
        TASKS_REFUSED.inc(budget.limit)


def _together(done: Sequence[Queued]) -> Queued:
    task_ids: list[int] = []
    refused: dict[int, Budget] = {}
    for batch in done:
        task_ids += batch.task_ids
        refused |= batch.refused
    more = len(done) > 1 or any(batch.more for batch in done)  # each by itself is no full batch
    return Queued(task_ids, refused, more)


def _pick(
    conn: Connection,
    pool: LockedPool,
    free: Mapping[Budget, int],
    most: int,
    choice: KeyFilter[str],
) -> tuple[list[ReadyTask], dict[Budget, int]]:
    """Lock the tasks that come next; return them, and what is left to the backfills among them.

    Where a backfill has spent its share, those behind its tasks are looked for.
    """
    ready: dict[int, ReadyTask] = {}
    shares: dict[Budget, int] = {}
    done: set[int] = set()
    more = True
    while more:
        picked = ready_tasks.pick(conn, pool, free, most, choice, done)
        ready |= {task.id: task for task in picked}
        shares = backfill_shares.free(conn, pool.name, pool.free, picked) | shares
        more = not spent(picked, shares) <= done
        done |= spent(picked, shares)
    return ready_tasks.in_order(ready.values()), shares
