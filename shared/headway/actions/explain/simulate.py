"""Tell what would be queued now under other limits."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from headway.actions.explain.snapshot import SnapshotReader
from headway.actions.lookup import current_dag
from headway.db.reads.explain import queue_order, task_state
from headway.db.scheduling import demand
from headway.decide.explain.simulate import Changes, QueueOrder, Simulation, simulate
from headway.decide.explain.snapshot import ProcessRow, alive
from headway.decide.scheduling.admit import Budget, Limit
from headway.runtime.settings.scheduler import SchedulerSettings


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulation, and what it leaves out of account.

    `further` tasks wait that were not looked at, because so many of their DAG or in their
    pool are before them; `paused` ones wait for their DAG to be unpaused.  `assumed` tells
    that no scheduler is alive, and that one was taken to be.
    """

    simulation: Simulation
    further: int
    paused: int
    assumed: bool


def simulate_queue(
    conn: Connection, changes: Changes, settings: SchedulerSettings, now: datetime
) -> Simulated:
    """Simulate what is queued of all that waits, in all pools together.

    The transaction may only read from here on.  NotFoundError for a DAG that there is not.
    """
    task_state.read_only(conn)
    for dag_id in changes.dags:
        current_dag(conn, dag_id)
    pools = demand.look(conn, now).pools
    waiting = [each for pool in pools for each in queue_order.waiting(conn, pool)]
    waiting.sort(key=lambda each: (each.task.rank, each.task.id))
    lengths = [queue_order.length(conn, pool) for pool in pools]
    schedulers = alive(SnapshotReader(conn, settings, now).schedulers())
    tasks = [each.task for each in waiting]
    limits = queue_order.limits(conn, schedulers, tasks)
    free = queue_order.free(conn, schedulers, tasks)
    in_use = {budget: limit - free.get(budget, 0) for budget, limit in limits.items()}
    in_use |= _in_use(conn, changes)
    assumed = [] if schedulers else [_idle(settings)]
    return Simulated(
        simulate(QueueOrder(waiting, limits, in_use, [*schedulers, *assumed]), changes),
        sum(length for length, _ in lengths) - len(waiting),
        sum(paused for _, paused in lengths),
        bool(assumed),
    )


def _in_use(conn: Connection, changes: Changes) -> dict[Budget, int]:
    """Return what is in use of pools and queues that are changed, whether or not they are there."""
    pools = queue_order.pool_slots_in_use(conn, changes.pools)
    queues = queue_order.queue_slots_in_use(conn, changes.queues)
    return {
        **{Budget(Limit.POOL, (name,)): slots for name, slots in pools.items()},
        **{Budget(Limit.QUEUE, (name,)): slots for name, slots in queues.items()},
        **{Budget(Limit.SPARE, (name,)): slots for name, slots in queues.items()},
    }


def _idle(settings: SchedulerSettings) -> ProcessRow:
    return ProcessRow(
        id=0,
        kind="scheduler",
        hostname="",
        pid=0,
        slots=settings.parallelism,
        busy=0,
        silent=0.0,
        alive=True,
    )
