"""The loop of every daemon."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random

from headway.metrics.database import TRANSACTION_RETRIES
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock

log = logging.getLogger(__name__)


class Found(Enum):
    """What a step has found to do; it is true if that was anything."""

    NOTHING = "nothing"
    ALL = "all"
    """Something, and all that there was is done."""
    MORE = "more"
    """Something, and there may be more."""

    def __bool__(self) -> bool:
        return self is not Found.NOTHING


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a loop waits, in seconds: when there is nothing left to do, and after failures.

    Work seldom comes alone: so the first wait after it is short, and each one that is in
    vain makes the next twice as long, up to `idle`.
    """

    idle: float = 1.0
    first: float = 0.002
    retry_first: float = 0.2
    retry_longest: float = 10.0

    def idle_after(self, steps: int) -> float:
        """Return the wait after that many steps in a row that left nothing to do.

        All of them but the first have found nothing.
        """
        return _doubled(self.first, steps, self.idle)

    def retry_after(self, failures: int, chance: float = 1.0) -> float:
        """Return the wait after that many failures in a row.

        A `chance` between 0 and 1 leaves the second half of it to chance: what failed together
        is then not tried again together.
        """
        longest = _doubled(self.retry_first, failures, self.retry_longest)
        return longest * (1 + chance) / 2


def cause_of(error: BaseException) -> str:
    """Return what to tell of an error: of SQLAlchemy's, what the database's driver said."""
    return str(getattr(error, "orig", None) or error).strip()


def never(_error: BaseException) -> bool:
    """Survive no error."""
    return False


def unseen(_rest: float) -> None:
    """Tell nobody that the loop moves."""


@dataclass(slots=True)
class Loop:
    """Call `step` until the bell's `stop`.

    A step does its short transactions and returns what it found.  Where there may be
    more the next step follows at once; otherwise the loop waits on its bell.  Only
    errors that `transient` recognises are survived, and no ring cuts the wait after
    one short; any other ends the process, and the platform restarts it.

    `moved` is told when a step begins, with 0, and before each wait, with its seconds.
    """

    name: str
    step: Callable[[], Found]
    clock: Clock
    transient: Callable[[BaseException], bool] = never
    pace: Pace = Pace()
    bell: Bell = field(default_factory=Bell)
    random: Random = field(default_factory=Random)
    moved: Callable[[float], None] = unseen

    def run(self) -> None:
        """Run until stopped."""
        TRANSACTION_RETRIES.inc(self.name, by=0)
        failures = in_vain = 0
        while not self.bell.stopped.is_set():
            self.bell.answer()
            self.moved(0.0)
            try:
                found = self.step()
            except Exception as error:
                if not self.transient(error):
                    raise
                failures += 1
                self._wait_after(error, failures)
            else:
                failures = 0
                in_vain = 0 if found is Found.MORE else 1 if found else in_vain + 1
                if in_vain and self._rest(self.pace.idle_after(in_vain)):
                    in_vain = 0

    def _rest(self, seconds: float) -> bool:
        """Wait for a ring; return whether one came."""
        self.moved(seconds)
        return self.bell.wait(self.clock, seconds)

    def _wait_after(self, error: Exception, failures: int) -> None:
        TRANSACTION_RETRIES.inc(self.name)
        seconds = self.pace.retry_after(failures, self.random.random())
        cause = cause_of(error)
        log.warning(
            "%s: failed %d times, next try in %.1f s: %s", self.name, failures, seconds, cause
        )
        self.moved(seconds)
        self.clock.wait(self.bell.stopped, seconds)


def _doubled(first: float, times: int, longest: float) -> float:
    return min(first * 2.0 ** min(times - 1, 30), longest)
