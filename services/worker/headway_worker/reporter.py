"""Reports on their way to the database."""

from collections.abc import Callable
from dataclasses import dataclass, field

from headway.db.attempts import AttemptKey, Report
from headway_worker.chore import Chore
from headway_worker.clerk import Clerk


@dataclass(slots=True)
class Reporter:
    """Send reports, all that have come together in one transaction, until they are taken.

    An attempt whose report is under way is still this worker's: its lease goes on
    being renewed, so that a long outage of the database turns no success into a loss.
    """

    clerk: Clerk
    chore: Chore[None]
    on_reported: Callable[[AttemptKey], None]
    _waiting: list[Report] = field(default_factory=list)
    _sent: list[Report] = field(default_factory=list)

    def add(self, report: Report) -> None:
        """Take a report over."""
        self._waiting.append(report)

    def keys(self) -> list[AttemptKey]:
        """Return the attempts that are not reported yet."""
        return [report.key for report in (*self._sent, *self._waiting)]

    def step(self) -> None:
        """Collect what was sent and send what waits."""
        if self.chore.done():
            if self.chore.collect() is None:
                self._waiting = self._sent + self._waiting
            else:
                for report in self._sent:
                    self.on_reported(report.key)
            self._sent = []
        if self._waiting and not self._sent and self.chore.may_begin():
            sent, self._waiting = self._waiting, []
            self._sent = sent
            self.chore.begin(lambda: self.clerk.report(sent))
