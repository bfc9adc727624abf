"""How many slots of a pool a backfill may take, beside the runs that are not of any."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.decide.scheduling.admit import Budget, ReadyTask

WHOLE = 100
"""The weight of a backfill that may take all slots of a pool."""


@dataclass(frozen=True, slots=True)
class BackfillShare:
    """A backfill and a pool of so many slots, of which it has `held`.

    `first`: how many the first of its tasks that wait takes.  `outsized`: a task of a lower class
    waits that needs more slots than are free.  `waits`: a task that is of no backfill, or of one
    that is not `idle_only`, waits for a worker.
    """

    slots: int
    weight: int
    held: int = 0
    first: int = 1
    idle_only: bool = False
    outsized: bool = False
    waits: bool = False


def slots_for(share: BackfillShare) -> int:
    """Return how many more slots the backfill may take: its share, or one task when it has none."""
    if share.outsized or (share.idle_only and share.waits):
        return 0
    least = 1 if share.held else share.first
    return max(share.slots * share.weight // WHOLE, min(share.slots, least)) - share.held


def spent(tasks: Iterable[ReadyTask], free: Mapping[Budget, int]) -> set[int]:
    """Return the backfills of which none of these tasks fits into what is left of their share."""
    fits: dict[int, bool] = {}
    for task in tasks:
        if (share := task.share()) and task.backfill_id:
            small = task.pool_slots <= free.get(share, 0)
            fits[task.backfill_id] = fits.get(task.backfill_id, False) or small
    return {backfill for backfill, fit in fits.items() if not fit}
