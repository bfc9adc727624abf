"""The loop of every daemon."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from headway.runtime.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a loop waits, in seconds: after a step that found nothing, and after failures."""

    idle: float = 0.2
    retry_first: float = 0.2
    retry_longest: float = 10.0

    def retry_after(self, failures: int) -> float:
        """Return the wait after that many failures in a row: it doubles each time."""
        return min(self.retry_first * 2.0 ** min(failures - 1, 30), self.retry_longest)


def never(_error: BaseException) -> bool:
    """Survive no error."""
    return False


@dataclass(slots=True)
class Loop:
    """Call `step` until `stop` is set.

    A step does its short transactions and returns whether it found work.  After
    work the next step follows at once; otherwise the loop waits, and a stop ends
    the wait.  Only errors that `transient` recognises are survived; any other ends
    the process, and the platform restarts it.
    """

    name: str
    step: Callable[[], bool]
    clock: Clock
    transient: Callable[[BaseException], bool] = never
    pace: Pace = Pace()
    stop: Event = field(default_factory=Event)

    def run(self) -> None:
        """Run until stopped."""
        failures = 0
        while not self.stop.is_set():
            try:
                busy = self.step()
                failures = 0
            except Exception as error:
                if not self.transient(error):
                    raise
                failures += 1
                wait = self.pace.retry_after(failures)
                cause = str(getattr(error, "orig", None) or error).strip()
                log.warning(
                    "%s: failed %d times, next try in %.1f s: %s", self.name, failures, wait, cause
                )
                self.clock.wait(self.stop, wait)
            else:
                if not busy:
                    self.clock.wait(self.stop, self.pace.idle)
