"""Something that a thread does for the supervisor, at most once at a time."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from math import inf
from threading import Event
from typing import Final, Generic, TypeVar

from headway.db.core.engine import is_transient
from headway.metrics.database import TRANSACTION_RETRIES
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace, cause_of

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRYING: Final = Pace(retry_longest=5.0)


@dataclass(slots=True)
class BackgroundCall(Generic[T]):
    """A call to the database that the supervisor begins, and collects when it is done.

    After a transient error it may be begun again, a little later each time; any
    other error is raised where it is collected.
    """

    name: str
    threads: Executor
    wake: Callable[[], None]
    clock: Clock
    pace: Pace = RETRYING
    _future: "Future[T] | None" = None
    _failures: int = 0
    _not_before: float = 0.0
    _hasty: Event = field(default_factory=Event)

    @property
    def pending(self) -> bool:
        """Whether it is under way, or done and not collected."""
        return self._future is not None

    @property
    def hurried(self) -> bool:
        """Whether it is to be begun at once."""
        return self._hasty.is_set()

    def may_begin(self) -> bool:
        """Whether it is neither under way nor at rest."""
        return self.begins_in() <= 0.0

    def begins_in(self) -> float:
        """Return the seconds until it may begin; while it is under way, for ever."""
        if self._future is not None:
            return inf
        if self.hurried and not self._failures:
            return 0.0
        return self._not_before - self.clock.monotonic()

    def hurry(self) -> None:
        """Have it begun at once, and once more if it is under way; any thread may call this.

        A rest after a failure is kept all the same.
        """
        self._hasty.set()
        self.wake()

    def rest(self, seconds: float) -> None:
        """Let it begin after so many seconds at the earliest, unless something hurries it."""
        self._not_before = self.clock.monotonic() + seconds

    def soon(self, seconds: float) -> None:
        """Cut its rest to so many seconds, unless it rests after a failure."""
        if not self._failures:
            self._not_before = min(self._not_before, self.clock.monotonic() + seconds)

    def begin(self, call: Callable[[], T], *, every: float = 0.0) -> None:
        """Begin it; it may be begun again after `every` seconds at the earliest."""
        self._hasty.clear()  # before it begins: what comes while it is under way is news to it
        self.rest(every)
        self._future = self.threads.submit(call)
        self._future.add_done_callback(lambda _: self.wake())

    def done(self) -> bool:
        """Whether there is something to collect."""
        return self._future is not None and self._future.done()

    def collect(self) -> tuple[T] | None:
        """Return the result of a call that is done, in a tuple; None when it must be repeated."""
        assert self._future is not None
        future, self._future = self._future, None
        error = future.exception()
        if error is None:
            self._failures = 0
            return (future.result(),)
        if not is_transient(error):
            raise error
        self._failures += 1
        TRANSACTION_RETRIES.inc(self.name)
        wait = self.pace.retry_after(self._failures)
        self.rest(wait)
        cause = cause_of(error)
        log.warning(
            "%s: failed %d times, next try in %.1f s: %s", self.name, self._failures, wait, cause
        )
        return None
