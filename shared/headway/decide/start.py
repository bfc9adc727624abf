"""Which queued runs may start: `max_active_runs` of the DAG, and of each backfill."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run that waits to be started; `backfill_id` is None outside a backfill."""

    id: int
    backfill_id: int | None


def startable(queued: Iterable[QueuedRun], free: Mapping[int | None, int]) -> list[int]:
    """Return the runs to start, in the given order.

    `free` says how many more runs may be active in each backfill and, under None,
    outside of any: a backfill and the DAG's own schedule never hold each other up.
    """
    left = dict(free)
    started: list[int] = []
    for run in queued:
        if left.get(run.backfill_id, 0) > 0:
            left[run.backfill_id] -= 1
            started.append(run.id)
    return started
