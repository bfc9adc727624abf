"""The policy of retention: a thread of the scheduler removes old rows, a portion at a time.

The thread has a connection of its own, so that no pass of the scheduler waits for a portion.  Any
number of schedulers may do the same: what one of them removes the others skip.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Final

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from headway.decide.scheduling.expire import BEGINNING, RetentionCursor, enabled, rest
from headway.domain.errors import FencedError, ReplicaError
from headway.domain.retention import RetainedKind
from headway.metrics.scheduler import RETENTION_BEHIND
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace, cause_of
from headway_scheduler.passes.expire import Expired, expire
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

_PACE: Final = Pace(retry_first=1.0, retry_longest=60.0)


@dataclass(slots=True)
class _Round:
    """How far one kind has been looked through since when."""

    began: datetime
    place: RetentionCursor = BEGINNING


@dataclass(slots=True)
class RetentionState:
    """What each kind keeps, and how far this scheduler is with removing the rest."""

    replica: Replica
    clock: Clock
    due: dict[RetainedKind, datetime] = field(default_factory=dict)
    """Since when the oldest row that is still there was to go, by kind."""
    _rounds: dict[RetainedKind, _Round] = field(default_factory=dict)
    _round_at: float = 0.0
    _failures: int = 0
    _stop: Event = field(default_factory=Event)

    @property
    def kept(self) -> Mapping[RetainedKind, float]:
        """For how many seconds each kind is kept that is not kept for ever."""
        return enabled(self.replica.settings.retention_days)

    def behind(self, kind: RetainedKind) -> float:
        """Return for how many seconds the oldest row of a kind should have been gone."""
        since = self.due.get(kind)
        return 0.0 if since is None else max(0.0, (self.clock.now() - since).total_seconds())

    def step(self) -> float:
        """Remove one portion, if any is due; return the seconds until the next one."""
        if not self._rounds:
            if self.clock.monotonic() < self._round_at:
                return self._round_at - self.clock.monotonic()
            self._round_at = self.clock.monotonic() + self.replica.settings.retention_interval
            began = self.clock.now()
            self._rounds = {kind: _Round(began) for kind in self.kept}
            self.due = dict.fromkeys(self.kept, began) | self.due  # what fails counts as well
        kind, its = next(iter(self._rounds.items()))
        began_at = self.clock.monotonic()
        expired = expire(self.replica, kind, self.kept[kind], its.place)
        seconds = self.clock.monotonic() - began_at
        self._went(kind, its, expired)
        return rest(seconds, contended=expired.contended)

    def _went(self, kind: RetainedKind, its: _Round, expired: Expired) -> None:
        part = expired.portion
        if part.since is not None:
            self.due[kind] = part.since + timedelta(seconds=self.kept[kind])
        if part.next is None:
            self.due[kind] = its.began
            del self._rounds[kind]
        else:
            its.place = part.next

    def run(self) -> None:
        """Go on until `close`, or until this process was declared dead."""
        while not self._stop.is_set():
            try:
                seconds = self.step()
                self._failures = 0
            except FencedError:
                return  # the loop of the scheduler ends the process
            except (DBAPIError, NoConnectionLeft, ReplicaError) as error:
                self._failures += 1
                seconds = _PACE.retry_after(self._failures)
                log.warning("action=expire retry_in=%.0f: %s", seconds, cause_of(error))
            self.clock.wait(self._stop, seconds)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have a thread remove what is old for as long as the block lasts."""
        thread = Thread(target=self.run, name="retention", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(10.0)

    def show(self) -> None:
        """Have the metrics tell how far this scheduler is behind, for each kind that it removes."""
        RETENTION_BEHIND.read_by(lambda: {(kind,): self.behind(kind) for kind in self.kept})
