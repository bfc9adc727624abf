"""For how long the attempts of this worker are its own, on its own clock."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from headway.metrics.worker import LEASE_MARGIN
from headway.runtime.daemon.clock import Clock
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.supervision.background_call import BackgroundCall

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Renewal(Generic[K]):
    """What is still the worker's own, with whether each was told to stop.

    `drain` tells whether the worker itself was told to end.
    """

    stopping: Mapping[K, bool]
    drain: bool = False


class Renews(Protocol[K]):
    """Who renews leases."""

    def renew(self, keys: Sequence[K]) -> Renewal[K]:
        """Extend leases; return those that are still ours."""


@dataclass(slots=True)
class LeaseKeeper(Generic[K]):
    """Renew the leases, and know until when each attempt may run.

    An attempt ends `kill_grace` seconds before its lease can run out, counted from
    when the claim or renewal was *asked for*: so it is dead before the database may
    give it away, whatever the delay of the answer.  That moment, `until`, is to be passed down
    to the attempt's nanny, which enforces it also while this process is stopped.  A renewal also
    brings which attempts were told to stop, and whether the worker was told to `drain`.
    """

    database: Renews[K]
    settings: WorkerSettings
    clock: Clock
    chore: BackgroundCall[Renewal[K]]
    drain: bool = False
    _until: dict[K, float] = field(default_factory=dict)
    _taken: set[K] = field(default_factory=set)
    _stopping: set[K] = field(default_factory=set)
    _asked: tuple[float, tuple[K, ...]] = (0.0, ())

    def grant(self, key: K, since: float) -> None:
        """Enter an attempt whose claim was asked for at that time."""
        self._until[key] = since + self.settings.lease_duration - self.settings.kill_grace

    def until(self, key: K) -> float:
        """Return the moment at which the attempt must end, 0 for one that is unknown.

        Any thread may ask.
        """
        return self._until.get(key, 0.0)

    def forget(self, key: K) -> None:
        """Leave an attempt out that has ended."""
        self._until.pop(key, None)
        self._taken.discard(key)
        self._stopping.discard(key)

    def has_ended(self, key: K) -> bool:
        """Whether the attempt must not run any longer."""
        return key in self._taken or self.clock.monotonic() >= self.until(key)

    def is_stopping(self, key: K) -> bool:
        """Whether the attempt was told to stop; it is still this worker's to report."""
        return key in self._stopping

    def step(self, keys: Iterable[K]) -> bool:
        """Collect the last renewal and begin the next one, when it is time for it.

        Return whether a renewal has come, and with it other moments to pass down.
        """
        renewed = self.chore.done() and self._collect()
        if self.chore.may_begin():
            asked = self.clock.monotonic(), tuple(keys)
            self._asked = asked
            self.chore.begin(
                lambda: self.database.renew(asked[1]), every=self.settings.heartbeat_interval
            )
        return renewed

    def _collect(self) -> bool:
        renewed = self.chore.collect()
        if renewed is None:
            return False
        self.drain = renewed[0].drain
        still_mine = renewed[0].stopping
        since, keys = self._asked
        for key in keys:
            if key not in self._until:
                continue  # it has ended meanwhile
            if key not in still_mine:
                self._taken.add(key)
                continue
            LEASE_MARGIN.observe(max(self._until[key] - self.clock.monotonic(), 0.0))
            self.grant(key, since)
            if still_mine[key]:
                self._stopping.add(key)
        return True
