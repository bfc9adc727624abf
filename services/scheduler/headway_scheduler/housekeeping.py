"""What a scheduler does from time to time: adopt, give back, clean, measure."""

from collections.abc import Callable
from dataclasses import dataclass, field

from headway.runtime.clock import Clock
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.clean import clean
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.pool_metrics import measure_pools
from headway_scheduler.replica import Replica

REVOKE_EVERY = 30.0
"""Seconds between two looks for tasks that have been queued for too long."""


@dataclass(slots=True)
class Chore:
    """Something to do every so many seconds, which returns how much it has found."""

    every: float
    call: Callable[[], int]
    due_at: float = 0.0


@dataclass
class Housekeeping:
    """The chores of one scheduler; any number of schedulers may do them at once."""

    replica: Replica
    clock: Clock
    chores: list[Chore] = field(init=False)

    def __post_init__(self) -> None:
        replica, settings = self.replica, self.replica.settings
        self.chores = [
            Chore(settings.orphaned_tasks_check_interval, lambda: adopt(replica)),
            Chore(REVOKE_EVERY, lambda: revoke(replica, self.clock.now())),
            Chore(settings.clean_tis_without_dagrun_interval, lambda: clean(replica)),
            Chore(settings.pool_metrics_interval, lambda: measure_pools(replica.engine)),
        ]

    def step(self) -> bool:
        """Do what is due; return whether any of it found something that leads to more work."""
        found = 0
        for chore in self.chores:
            if self.clock.monotonic() >= chore.due_at:
                chore.due_at = self.clock.monotonic() + chore.every
                found += chore.call()
        return found > 0
