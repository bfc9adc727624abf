"""What a supervisor makes of the work that it holds, whatever kind of work that is."""

import selectors
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy.exc import OperationalError

from headway.runtime.daemon.loop import Pace
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.processes.at_once import AtOnce
from headway.testing.time.clock import FakeClock
from headway_worker.supervision.claims import Claims
from headway_worker.supervision.held import Held, WorkState
from headway_worker.supervision.lease_keeper import LeaseKeeper, Renewal
from headway_worker.supervision.supervisor import Supervisor
from headway_worker.supervision.worker_host import WorkerHost

SLOTS = 2


@dataclass(frozen=True)
class Told:
    """A report."""

    key: int


class Piece(Held[int]):
    """Work whose next state the test says."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.steps = 0
        self.next: WorkState | None = WorkState.RUNNING

    @property
    def key(self) -> int:
        return self.number

    def step(self) -> None:
        self.steps += 1
        if self.next is WorkState.REPORTING:
            self.send(Told(self.number))
        elif self.next is not None:
            self.state = self.next

    def hand_back(self) -> None:
        self.send(Told(self.number))


@dataclass
class Kind:
    """Work by its numbers, and a database that the test turns off."""

    settings: WorkerSettings
    waiting: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    renewed_keys: list[tuple[int, ...]] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    away: bool = False
    always_renews: bool = False
    may: bool = True
    names: tuple[str, str] = ("claim", "report")
    slots: int = SLOTS
    pieces: dict[int, Piece] = field(default_factory=dict)
    leases: Any = None

    @property
    def database(self) -> Any:
        return self

    def may_start(self) -> bool:
        return self.may

    def hold(self, work: int) -> Piece:
        self.pieces[work] = Piece(work)
        return self.pieces[work]

    def renewed(self) -> None:
        pass

    def any_queued(self) -> bool:
        return bool(self.waiting)

    def claim(self, free_slots: int) -> list[int]:
        self.asked.append(free_slots)
        taken, self.waiting = self.waiting[:free_slots], self.waiting[free_slots:]
        return taken

    def renew(self, keys: Sequence[int]) -> Renewal[int]:
        self.renewed_keys.append(tuple(keys))
        return Renewal(dict.fromkeys(keys, False))

    def report(self, reports: Sequence[Told]) -> None:
        if self.away:
            raise OperationalError("UPDATE", {}, Exception("connection refused"))
        self.told += [told.key for told in reports]


@pytest.fixture
def kind(worker_settings: WorkerSettings) -> Kind:
    return Kind(worker_settings)


@pytest.fixture
def supervisor(kind: Kind, clock: FakeClock) -> Supervisor[int, int]:
    host = WorkerHost(
        kind.settings,
        clock,
        Pace(idle=1),
        selectors.DefaultSelector(),
        lambda: None,
        lambda _name: AtOnce(),
    )
    kind.leases = LeaseKeeper(kind, kind.settings, clock, host.background("renew"))
    return Supervisor(kind, host)


@pytest.fixture
def step(supervisor: Supervisor[int, int], clock: FakeClock) -> Callable[..., None]:
    def steps(number: int = 1, *, seconds: float = 1.0, draining: bool = False) -> None:
        for _ in range(number):
            clock.advance(seconds)
            supervisor.step(draining=draining)

    return steps


def test_an_attempt_is_this_workers_until_its_report_is_taken(
    kind: Kind, supervisor: Supervisor[int, int], step: Callable[..., None]
) -> None:
    """Its lease is renewed while the database takes no reports, and its slot is free."""
    kind.waiting, kind.away = [1], True
    step(3)
    kind.pieces[1].next = WorkState.REPORTING
    step(2)
    renewals, steps = len(kind.renewed_keys), kind.pieces[1].steps

    step(60)

    assert len(kind.renewed_keys) > renewals + 20
    assert set(kind.renewed_keys[renewals:]) == {(1,)}
    assert (supervisor.taken_slots, supervisor.at_rest) == (0, False)
    assert kind.pieces[1].steps == steps, "there is nothing left to decide"
    kind.away = False
    step(20)
    assert (kind.told, supervisor.at_rest) == ([1], True)


def test_what_is_dropped_is_forgotten_and_not_reported(
    kind: Kind, supervisor: Supervisor[int, int], step: Callable[..., None]
) -> None:
    kind.waiting = [1]
    step(3)
    kind.pieces[1].next = WorkState.DROPPED

    step(3)

    assert (supervisor.held, kind.told) == ({}, [])
    assert kind.leases.until(1) == 0.0


@pytest.mark.parametrize(
    "state", [WorkState.CLAIMED, WorkState.WAITING, WorkState.RUNNING, WorkState.ENDING]
)
def test_a_slot_is_taken_until_there_is_a_report(
    kind: Kind, supervisor: Supervisor[int, int], step: Callable[..., None], state: WorkState
) -> None:
    kind.waiting = [1, 2, 3]
    step(2)
    for piece in kind.pieces.values():
        piece.next = state

    step(20)

    assert (supervisor.taken_slots, supervisor.free_slots) == (SLOTS, 0)
    assert kind.pieces.keys() == {1, 2}
    kind.pieces[1].next = WorkState.REPORTING
    step(2)
    assert kind.pieces.keys() == {1, 2, 3}


def test_the_next_is_claimed_at_once_when_a_child_has_ended(
    kind: Kind, supervisor: Supervisor[int, int], step: Callable[..., None]
) -> None:
    """Not only when the pace of looks in vain has come round."""
    kind.waiting = [1]
    step(100, seconds=0.5)
    kind.waiting = [2]

    kind.pieces[1].next = WorkState.ENDING
    step(2, seconds=0.001)

    assert 2 in kind.pieces


def test_nothing_is_claimed_that_could_not_be_started(
    kind: Kind, step: Callable[..., None]
) -> None:
    kind.waiting, kind.may = [1], False
    step(10)
    assert kind.asked == []

    kind.may = True
    step(10, draining=True)
    assert kind.asked == []

    step(2)
    assert kind.pieces.keys() == {1}


@pytest.mark.parametrize("always", [True, False])
def test_leases_are_renewed_without_any_where_that_is_the_heartbeat(
    kind: Kind, step: Callable[..., None], always: bool
) -> None:
    kind.always_renews = always
    step(20)

    assert bool(kind.renewed_keys) is always


def test_what_is_handed_back_is_reported_once(
    kind: Kind, supervisor: Supervisor[int, int], step: Callable[..., None]
) -> None:
    kind.waiting, kind.away = [1], True
    step(3)

    supervisor.hand_back()
    supervisor.hand_back()
    kind.away = False
    step(20, draining=True)

    assert (kind.told, supervisor.at_rest) == ([1], True)


def test_a_flood_is_judged_by_what_runs(
    kind: Kind, step: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that waits, ends or is being reported does not bring about the next."""
    is_flood = Mock(return_value=False)
    monkeypatch.setattr(Claims, "is_flood", is_flood)
    kind.waiting = [1, 2]
    step(3)
    is_flood.assert_called_with(2)

    kind.pieces[1].next = WorkState.ENDING
    step()
    is_flood.assert_called_with(1)


def test_at_the_end_what_runs_is_killed_and_all_is_let_go(
    kind: Kind, supervisor: Supervisor[int, int], step: Callable[..., None]
) -> None:
    kind.waiting = [1, 2]
    step(3)
    running, over = Mock(closed=False), Mock(closed=True)
    kind.pieces[1].execution, kind.pieces[2].execution = running, over
    kind.pieces[2].state = WorkState.REPORTING

    supervisor.kill()
    supervisor.close()

    assert (running.child.kill.call_count, over.child.kill.call_count) == (1, 0)
    assert (running.shut.call_count, over.shut.call_count) == (1, 0)
