"""Reports on their way to the database."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Generic, Protocol, TypeVar

from headway_worker.supervision.background_call import BackgroundCall

K = TypeVar("K")
K_co = TypeVar("K_co", covariant=True)


class Keyed(Protocol[K_co]):
    """A report on what this worker has claimed."""

    @property
    def key(self) -> K_co:
        """What it is about."""


class Reports(Protocol):
    """Who takes reports to the database."""

    def report(self, reports: Sequence[Any]) -> None:
        """End what they are about, in one transaction."""


GATHER: Final = 0.05
"""Seconds between two transactions with reports, in a flood of them."""


@dataclass(slots=True)
class Reporter(Generic[K]):
    """Send reports, all that have come together in one transaction, until they are taken.

    They are sent at once, but in a flood: then all that come within `GATHER` go together.
    An attempt whose report is under way is still this worker's: its lease goes on
    being renewed, so that a long outage of the database turns no success into a loss.
    """

    database: Reports
    chore: BackgroundCall[None]
    on_reported: Callable[[K], None]
    _waiting: list[Keyed[K]] = field(default_factory=list)
    _sent: list[Keyed[K]] = field(default_factory=list)

    def add(self, report: Keyed[K]) -> None:
        """Take a report over."""
        self._waiting.append(report)

    def due_in(self) -> float:
        """Return the seconds until what waits is sent, 0 or less when that is due."""
        return self.chore.begins_in() if self._waiting else inf

    def step(self, *, flood: bool) -> None:
        """Collect what was sent and send what waits."""
        if self.chore.done():
            if self.chore.collect() is None:
                self._waiting = self._sent + self._waiting
            else:
                for report in self._sent:
                    self.on_reported(report.key)
            self._sent = []
        if not flood:
            self.chore.soon(0.0)
        if self._waiting and not self._sent and self.chore.may_begin():
            sent, self._waiting = self._waiting, []
            self._sent = sent
            self.chore.begin(lambda: self.database.report(sent), every=GATHER)
