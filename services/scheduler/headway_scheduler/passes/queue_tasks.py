"""The critical section: scheduled task instances get their place in a pool."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine

from headway.db import dags, pools, processes, tasks
from headway.db.processes import Identity
from headway.decide.admit import Admission, Capacity, admit
from headway.runtime.seam import nothing

NOTHING = Admission([], {})


def pools_in_demand(engine: Engine) -> list[str]:
    """Return the pools that a scheduled task waits for; each is then queued on its own."""
    with engine.connect() as conn:
        return pools.names_in_demand(conn)


def queue_tasks(
    engine: Engine,
    me: Identity,
    pool: str,
    now: datetime,
    batch: int,
    before_commit: Callable[[], None] = nothing,
) -> Admission:
    """Queue ready tasks of one pool within the limits of the pool and of their DAGs.

    Locks are taken in one order everywhere (pool, task, DAG) and a taken one is
    skipped, so schedulers never wait for each other.
    """
    with engine.begin() as conn:
        processes.confirm(conn, me)
        free = pools.lock_free_slots(conn, pool)
        if free is None or free < 1:
            return NOTHING
        ready = tasks.lock_ready(conn, pool, free, batch)
        places = dags.lock_places(conn, sorted({task.dag_id for task in ready}))
        admission = admit(ready, Capacity({pool: free}, places))
        tasks.queue(conn, admission.task_ids, now)
        before_commit()
    return admission
