"""Which queued runs may start: `max_active_runs` of the DAG, and of each backfill."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run that waits to be started; `backfill_id` is None outside a backfill.

    With `parse_requested` it waits for a parse of its DAG file.
    """

    id: int
    backfill_id: int | None
    parse_requested: bool = False


def placed(queued: Iterable[QueuedRun], free: Mapping[int | None, int]) -> list[QueuedRun]:
    """Return the runs for which there is room, in the given order.

    `free` says how many more runs may be active in each backfill and, under None,
    outside of any: a backfill and the DAG's own schedule never hold each other up.
    """
    left = dict(free)
    found: list[QueuedRun] = []
    for run in queued:
        if left.get(run.backfill_id, 0) > 0:
            left[run.backfill_id] -= 1
            found.append(run)
    return found


def startable(queued: Iterable[QueuedRun], free: Mapping[int | None, int]) -> list[int]:
    """Return the runs to start: those with a place, but for those that wait for a parse.

    These keep their place, so that runs start in their order.
    """
    return [run.id for run in placed(queued, free) if not run.parse_requested]
