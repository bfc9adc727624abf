"""The supervisor: it claims work into slots, steps what it holds, and reports how that ends.

One thread steps it and never touches the database; background calls do that.  So work whose
lease is over is stopped in time, whatever the database does.
"""

from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from headway_worker.supervision.claims import Claims, Queue
from headway_worker.supervision.held import Held, WorkState
from headway_worker.supervision.lease_keeper import LeaseKeeper
from headway_worker.supervision.reporter import Reporter, Reports
from headway_worker.supervision.worker_host import WorkerHost

K = TypeVar("K", bound=Hashable)
W = TypeVar("W")


class WorkDatabase(Queue[W], Reports, Protocol[W]):
    """Where work is claimed and reported."""


class WorkKind(Protocol[K, W]):
    """What differs between attempts and callbacks."""

    @property
    def names(self) -> tuple[str, str]:
        """What the background calls that claim and that report are called."""

    @property
    def database(self) -> WorkDatabase[W]:
        """Where the work is claimed and reported."""

    @property
    def leases(self) -> LeaseKeeper[K]:
        """Until when each piece of work is this worker's."""

    @property
    def always_renews(self) -> bool:
        """Whether leases are renewed even while nothing is held: as the worker's heartbeat."""

    def may_start(self) -> bool:
        """Whether what is claimed now could be started."""

    def hold(self, work: W) -> Held[K]:
        """Return the object that follows claimed work to its report."""

    def renewed(self) -> None:
        """Take note that leases were renewed."""


class Supervisor(Generic[K, W]):
    """Holds work of one kind.  Call `step` again and again, always in the same thread."""

    def __init__(self, kind: WorkKind[K, W], host: WorkerHost) -> None:
        self._kind, self._leases = kind, kind.leases
        self.held: dict[K, Held[K]] = {}
        claim, report = kind.names
        self._claims = Claims(kind.database, host.background(claim), host.clock, host.pace)
        self._reporter: Reporter[K] = Reporter(
            kind.database, host.background(report), self._reported
        )
        self.free_slots = 0

    @property
    def taken_slots(self) -> int:
        """How many slots are taken."""
        return sum(held.holds_slot for held in self.held.values())

    @property
    def busy(self) -> bool:
        """Whether it holds something, or the last look for work was not in vain."""
        return bool(self.held) or self._claims.found

    @property
    def at_rest(self) -> bool:
        """Whether all that was claimed has ended and been reported."""
        return not (self.held or self._claims.pending)

    def step(self, *, draining: bool) -> None:
        """Do all that can be done now.  While `draining` nothing is claimed."""
        if (self.held or self._kind.always_renews) and self._leases.step(self.held):
            self.pass_down()
        for work in self._claims.collect():
            held = self._kind.hold(work)
            self._leases.grant(held.key, self._claims.requested_at)
            self.held[held.key] = held
        for held in list(self.held.values()):
            self._step(held)
        self.free_slots = self._free_slots(draining=draining)
        self._claims.step(self.free_slots)
        running = sum(held.state is WorkState.RUNNING for held in self.held.values())
        self._reporter.step(flood=self._claims.is_flood(running))

    def due_in(self) -> float:
        """Return the seconds until there is something to do, if nothing happens before."""
        return min(self._claims.due_in(self.free_slots), self._reporter.due_in())

    def claim_soon(self) -> None:
        """Claim at once; any thread may call this."""
        self._claims.chore.hurry()

    def pass_down(self) -> None:
        """Tell the nannies until when children may live; they enforce it without this process."""
        for key, held in self.held.items():
            if held.state is WorkState.RUNNING and held.execution is not None:
                held.execution.child.hold_until(self._leases.until(key))
        self._kind.renewed()

    def hand_back(self) -> None:
        """Stop all work, so that another worker may begin it again."""
        for held in list(self.held.values()):
            before = held.state
            held.hand_back()
            self._take_note(held, before)

    def kill(self) -> None:
        """Kill what still runs."""
        for held in self.held.values():
            if held.state is WorkState.RUNNING and held.execution is not None:
                held.execution.child.kill()

    def close(self) -> None:
        """Let go of the children, which must have been killed, and of their logs."""
        for held in self.held.values():
            if held.execution is not None and not held.execution.closed:
                held.execution.shut()

    def _step(self, held: Held[K]) -> None:
        before = held.state
        if before is not WorkState.REPORTING:
            held.step()
            self._take_note(held, before)

    def _take_note(self, held: Held[K], before: WorkState) -> None:
        """See what has become of work whose state was `before`."""
        if before is WorkState.RUNNING and held.state is not WorkState.RUNNING:
            self._claims.ended()
        if held.state is WorkState.DROPPED:
            self._forget(held.key)
        elif held.report is not None and before is not WorkState.REPORTING:
            self._reporter.add(held.report)

    def _free_slots(self, *, draining: bool) -> int:
        free = self._kind.database.slots - self.taken_slots
        return free if free > 0 and not draining and self._kind.may_start() else 0

    def _reported(self, key: K) -> None:
        self._forget(key)
        self._claims.reported()

    def _forget(self, key: K) -> None:
        del self.held[key]
        self._leases.forget(key)
