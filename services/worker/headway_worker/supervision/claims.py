"""When a worker looks for work."""

from dataclasses import dataclass
from math import inf
from typing import Final, Generic, Protocol, TypeVar

from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway_worker.supervision.background_call import BackgroundCall

W = TypeVar("W")


class Queue(Protocol[W]):
    """Where work is claimed."""

    @property
    def slots(self) -> int:
        """How much of it may run at a time."""

    def any_queued(self) -> bool:
        """Whether there is anything to claim."""

    def claim(self, free_slots: int) -> list[W]:
        """Take work into free slots."""


GATHER: Final = 0.02
"""Seconds; a worker of eight slots can still claim 400 attempts a second."""


@dataclass(slots=True)
class Claims(Generic[W]):
    """Claim work into free slots.

    At a notice it claims at once, and so it does as long as claims bring all that they ask for.
    Else it looks first whether there is anything: when an attempt has ended, soon after it
    was reported, since what follows it in its run is about to be queued, and then ever
    more seldom.  While at least half of the slots are taken, a claim that has brought
    something is followed by the next one after `GATHER` at the earliest: the slots that fall
    free until then are filled by one transaction.
    """

    database: Queue[W]
    chore: BackgroundCall[list[W]]
    clock: Clock
    pace: Pace
    requested_at: float = 0.0
    _in_vain: int = 0
    _requested: int = 0
    _plenty: bool = False
    _brought: tuple[int, int] = (0, 0)
    _unbroken: int = 0
    _gathers_until: float = 0.0

    @property
    def found(self) -> bool:
        """Whether the last look for work was not in vain."""
        return self._in_vain == 0

    @property
    def pending(self) -> bool:
        """Whether a claim is under way, or has brought something that is not collected."""
        return self.chore.pending

    def collect(self) -> list[W]:
        """Return what the last claim has brought; it was requested at `requested_at`."""
        collected = self.chore.collect() if self.chore.done() else None
        if collected is None:
            return []
        (found,) = collected
        self._plenty = len(found) >= self._requested
        self._in_vain = 0 if found else self._in_vain + 1
        self._unbroken = self._unbroken + 1 if found else 0
        if found:
            self._brought = self._brought[1], len(found)
            self._gathers_until = self.clock.monotonic() + GATHER
        if self._in_vain:
            self.chore.rest(self.pace.idle_after(self._in_vain))
        return found

    def step(self, free_slots: int) -> None:
        """Begin the next claim, if there is room for what it may bring and it is time."""
        if self.due_in(free_slots) > 0.0:
            return
        self.requested_at, self._requested = self.clock.monotonic(), free_slots
        if self.chore.hurried or self._plenty:
            self._in_vain = 0
            self.chore.begin(lambda: self.database.claim(free_slots))
        else:
            self.chore.begin(lambda: self._look(free_slots))

    def due_in(self, free_slots: int) -> float:
        """Return the seconds until the next claim, 0 or less when it is due."""
        if free_slots <= 0:
            return inf
        begins_in = self.chore.begins_in()
        if 2 * free_slots > self.database.slots:
            return begins_in
        return max(begins_in, self._gathers_until - self.clock.monotonic())

    def ended(self) -> None:
        """Look at once: an attempt has ended, and its slot is free."""
        self._in_vain = 0
        self.chore.soon(0.0)

    def reported(self) -> None:
        """Look soon: what follows the attempt is about to be queued."""
        self._in_vain = 0
        self.chore.soon(self.pace.first)

    def is_flood(self, running: int) -> bool:
        """Return whether there is more work than one attempt waits for, enough to fill the slots.

        One of the last two claims that were not in vain has brought several, or none of the last
        two was in vain: when an attempt ended, the next one was queued already.  When a look was
        in vain and fewer than half of the slots are `running`, what follows from them is
        waited for.
        """
        starving = not self._unbroken and 2 * running < self.database.slots
        return (max(self._brought) > 1 or self._unbroken > 1) and not starving

    def _look(self, free_slots: int) -> list[W]:
        return self.database.claim(free_slots) if self.database.any_queued() else []
