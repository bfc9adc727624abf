"""Something that a thread does for the supervisor, at most once at a time."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from headway.db.engine import is_transient
from headway.runtime.clock import Clock
from headway.runtime.loop import Pace

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRYING: Final = Pace(retry_longest=5.0)


@dataclass(slots=True)
class Chore(Generic[T]):
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

    @property
    def pending(self) -> bool:
        """Whether it is under way, or done and not collected."""
        return self._future is not None

    def may_begin(self) -> bool:
        """Whether it is neither under way nor waiting after a failure."""
        return self._future is None and self.clock.monotonic() >= self._not_before

    def begin(self, call: Callable[[], T], *, every: float = 0.0) -> None:
        """Begin it; it may be begun again after `every` seconds at the earliest."""
        self._not_before = self.clock.monotonic() + every
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
        wait = self.pace.retry_after(self._failures)
        self._not_before = self.clock.monotonic() + wait
        cause = str(getattr(error, "orig", None) or error).strip()
        log.warning(
            "%s: failed %d times, next try in %.1f s: %s", self.name, self._failures, wait, cause
        )
        return None
