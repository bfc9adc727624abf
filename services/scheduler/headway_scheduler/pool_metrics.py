"""How the pools stand, as metrics."""

from typing import Final

from prometheus_client import Gauge
from sqlalchemy import Engine

from headway.db import pools
from headway.db.engine import reader
from headway.runtime.metrics import REGISTRY

SLOTS: Final = Gauge(
    "headway_pool_slots",
    "Slots of a pool: those it has (total), and those taken or waited for, by state of the task.",
    ["pool", "state"],
    registry=REGISTRY,
)


def measure_pools(engine: Engine) -> int:
    """Set the metrics to how the pools stand; return 0, for nothing follows from it."""
    with reader(engine).connect() as conn:
        found = pools.list_all(conn)
    SLOTS.clear()
    for pool in found:
        for state in ("queued", "running", "scheduled", "deferred"):
            SLOTS.labels(pool.name, state).set(getattr(pool, state))
        SLOTS.labels(pool.name, "total").set(pool.slots)
        SLOTS.labels(pool.name, "free").set(pool.free)
    return 0
