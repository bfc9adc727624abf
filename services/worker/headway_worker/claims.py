"""When a worker looks for work."""

from dataclasses import dataclass
from math import inf

from headway.runtime.clock import Clock
from headway.runtime.loop import Pace
from headway_worker.chore import Chore
from headway_worker.clerk import Clerk, Work


@dataclass(slots=True)
class Claims:
    """Claim attempts into free slots.

    At a notice it claims at once.  Else it looks first whether there is anything: when an
    attempt has ended, soon after it was reported, since what follows it in its run is
    about to be queued, and then ever more seldom.
    """

    clerk: Clerk
    chore: Chore[list[Work]]
    clock: Clock
    pace: Pace
    asked_at: float = 0.0
    _in_vain: int = 0

    @property
    def pending(self) -> bool:
        """Whether a claim is under way, or has brought something that is not collected."""
        return self.chore.pending

    def collect(self) -> list[Work]:
        """Return what the last claim has brought; it was asked for at `asked_at`."""
        collected = self.chore.collect() if self.chore.done() else None
        if collected is None:
            return []
        (found,) = collected
        self._in_vain = 0 if found else self._in_vain + 1
        if self._in_vain:
            self.chore.rest(self.pace.idle_after(self._in_vain))
        return found

    def step(self, free_slots: int) -> None:
        """Begin the next claim, if there is room for what it may bring and it is time."""
        if free_slots <= 0 or not self.chore.may_begin():
            return
        self.asked_at = self.clock.monotonic()
        if self.chore.hurried:
            self._in_vain = 0
            self.chore.begin(lambda: self.clerk.claim(free_slots))
        else:
            self.chore.begin(lambda: self._look(free_slots))

    def due_in(self, free_slots: int) -> float:
        """Return the seconds until the next claim, 0 or less when it is due."""
        return self.chore.begins_in() if free_slots > 0 else inf

    def ended(self) -> None:
        """Look at once: an attempt has ended, and its slot is free."""
        self._in_vain = 0
        self.chore.soon(0.0)

    def reported(self) -> None:
        """Look soon: what follows the attempt is about to be queued."""
        self._in_vain = 0
        self.chore.soon(self.pace.first)

    def _look(self, free_slots: int) -> list[Work]:
        return self.clerk.claim(free_slots) if self.clerk.any_queued() else []
