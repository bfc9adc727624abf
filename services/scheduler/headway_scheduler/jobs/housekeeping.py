"""What a scheduler does from time to time: adopt, judge deadlines, give back, clean."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from headway.db.core import processes
from headway.db.recovery import expired_state
from headway.runtime.daemon.clock import Clock
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.clean import clean
from headway_scheduler.passes.expire_state import expire_state
from headway_scheduler.passes.gather_notifications import MOST as MOST_GATHERED
from headway_scheduler.passes.gather_notifications import gather_notifications
from headway_scheduler.passes.judge_deadlines import MOST, judge_deadlines
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.passes.timing import timed
from headway_scheduler.replica.replica import Replica

REVOKE_EVERY = 30.0
"""Seconds between two looks for tasks that have been queued for too long."""

GATHER_EVERY = 2.0
"""Seconds between two looks for what notifiers are to tell of."""

EXPIRE_EVERY = 60.0
"""Seconds between two looks for what has expired in state stores."""


@dataclass(slots=True)
class Chore:
    """Something to do every so many seconds, which returns how much it has found.

    When that is as much as it takes at once, it is done again in the next step.
    """

    name: str
    every: float
    call: Callable[[], int]
    most: float = inf
    due_at: float = 0.0


@dataclass
class Housekeeping:
    """The chores of one scheduler; any number of schedulers may do them at once."""

    replica: Replica
    clock: Clock
    chores: list[Chore] = field(init=False)
    _in_touch_at: float = field(init=False)
    _adopts_from: float = 0.0

    def __post_init__(self) -> None:
        self._in_touch_at = self.clock.monotonic()
        replica, settings = self.replica, self.replica.settings
        self.chores = [
            Chore("adopt", settings.orphaned_tasks_check_interval, self._adopt),
            Chore("judge_deadlines", settings.deadline_check_interval, self._judge_deadlines, MOST),
            Chore(
                "gather_notifications",
                GATHER_EVERY,
                lambda: gather_notifications(replica),
                MOST_GATHERED,
            ),
            Chore("revoke", REVOKE_EVERY, lambda: revoke(replica, self.clock.now())),
            Chore(
                "expire_state",
                EXPIRE_EVERY,
                lambda: expire_state(replica),
                expired_state.LIMIT,
            ),
            Chore("clean", settings.clean_tis_without_dagrun_interval, lambda: clean(replica)),
        ]

    def step(self) -> bool:
        """Do what is due; return whether any of it found something that leads to more work."""
        found = 0
        for chore in self.chores:
            if self.clock.monotonic() >= chore.due_at:
                chore.due_at = self.clock.monotonic() + chore.every
                with timed(chore.name, self.clock):
                    its = chore.call()
                found += its
                if its >= chore.most:
                    chore.due_at = 0.0
        return found > 0

    def _adopt(self) -> int:
        """Adopt, but not at once after this scheduler itself was without the database for long.

        The others were probably as well: they get the time to renew their leases, and to report
        what has ended meanwhile, before they are judged by what they could not say.
        """
        now, patience = self.clock.monotonic(), self.replica.settings
        if now - self._in_touch_at > patience.scheduler_health_check_threshold:
            self._adopts_from = now + patience.scheduler_health_check_threshold
        if now < self._adopts_from:
            with self.replica.engine.begin() as conn:
                processes.confirm(conn, self.replica.me)
            found = 0
        else:
            found = adopt(self.replica)
        self._in_touch_at = now
        return found

    def _judge_deadlines(self) -> int:
        return judge_deadlines(self.replica, self.clock.now())
