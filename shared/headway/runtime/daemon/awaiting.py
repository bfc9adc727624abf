"""Wait at the start for something elsewhere that may not be there yet, such as the database."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Final

from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace

log = logging.getLogger(__name__)

_LONG: Final = 60.0


def log_each(error: BaseException, seconds: float) -> None:
    """Log why there was no contact, and when the next try is."""
    log.warning("action=wait next_try=%.1fs: %s", seconds, in_one_line(error))


def in_one_line(error: BaseException) -> str:
    """Return the text of an error, however many lines it has."""
    return " ".join(str(error).split())


@dataclass(slots=True)
class Awaiting:
    """Call `contact` until it succeeds, or the bell is stopped.

    Errors that `passes` recognises are told, by default one line each in the log, and waited
    after; any other is raised.  A stop ends the wait at once, also while `contact` is in a system
    call.
    """

    contact: Callable[[], object]
    passes: Callable[[BaseException], bool]
    bell: Bell
    clock: Clock
    pace: Pace = field(default_factory=Pace)
    random: Random = field(default_factory=Random)
    tell: Callable[[BaseException, float], None] = log_each

    def run(self) -> bool:
        """Return whether it has succeeded: False if the bell was stopped before."""
        failures = 0
        while not self.bell.stopped.is_set():
            error = self._try()
            if self.bell.stopped.is_set():
                break
            if error is None:
                return True
            if not self.passes(error):
                raise error
            failures += 1
            seconds = self.pace.retry_after(failures, self.random.random())
            self.tell(error, seconds)
            self.clock.wait(self.bell.stopped, seconds)
        return False

    def _try(self) -> BaseException | None:
        """Make one contact, in a thread that is left alone once the bell is stopped."""
        ended: SimpleQueue[BaseException | None] = SimpleQueue()

        def attempt() -> None:
            try:
                self.contact()
                ended.put(None)
            except Exception as error:  # noqa: BLE001 - it is judged, or raised, by who waits
                ended.put(error)
            self.bell.ring()

        self.bell.answer()
        Thread(target=attempt, name="contact", daemon=True).start()
        while ended.empty() and not self.bell.stopped.is_set():
            self.bell.wait(self.clock, _LONG)
            self.bell.answer()
        return None if ended.empty() else ended.get()
