"""The servers of a worker: one for new attempts, and those that drain."""

from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.domain.errors import EmbeddedError
from headway.testing.time.clock import FakeClock
from headway_worker.spark.server import fleet as module
from headway_worker.spark.server.fleet import ServerFleet
from headway_worker.spark.server.recycling import RecyclingLimits

ONE, TWO, THREE = (AttemptKey(number, 1, UUID(int=number)) for number in (1, 2, 3))
LIMITS = RecyclingLimits(max_attempts=2, memory_bytes=1000, idle_timeout=60, answer_timeout=30)


@dataclass
class Server:
    """A server that does what the test says; it has answered on its port, or not."""

    pid: int
    listens: bool = True
    alive: bool = True
    answers: bool = True
    fails: bool = False
    cleared: bool = False
    until: float = inf
    scratch: Path = field(default_factory=Path)

    @property
    def port(self) -> int | None:
        return self.pid if self.listens else None

    @property
    def endpoint(self) -> object:
        if self.fails:
            raise EmbeddedError("no memory")
        return object() if self.listens else None

    def is_alive(self) -> bool:
        return self.alive

    def hold_until(self, moment: float) -> None:
        self.until = moment

    def stop(self, grace: float) -> None:
        self.alive = False

    def clear(self) -> None:
        self.cleared = True


@dataclass
class Yard:
    """What starts servers, and knows them all."""

    servers: list[Server] = field(default_factory=list)
    listens: bool = True
    memory: int = 0

    def start(self) -> Any:
        self.servers.append(Server(len(self.servers) + 1, listens=self.listens))
        return self.servers[-1]


@pytest.fixture
def yard(monkeypatch: pytest.MonkeyPatch) -> Yard:
    made = Yard()
    monkeypatch.setattr(module, "resident_bytes", lambda _pid: made.memory)
    monkeypatch.setattr(module, "answers", lambda port, _s: made.servers[port - 1].answers)
    return made


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fleet(yard: Yard, clock: FakeClock) -> ServerFleet:
    return ServerFleet(yard.start, LIMITS, clock)


def test_attempts_share_a_server(fleet: ServerFleet, yard: Yard) -> None:
    assert fleet.board(ONE) is fleet.board(TWO)
    assert len(yard.servers) == 1


def test_a_server_that_has_died_is_replaced_for_the_next_attempt(
    fleet: ServerFleet, yard: Yard
) -> None:
    fleet.board(ONE)
    yard.servers[0].alive = False

    assert fleet.of(ONE) is None
    second: Any = fleet.board(TWO)
    assert yard.servers[0].cleared
    assert second.pid == 2
    assert fleet.of(TWO) is second


def test_a_worn_server_drains_once_its_successor_listens(fleet: ServerFleet, yard: Yard) -> None:
    fleet.board(ONE)
    fleet.board(TWO)
    yard.listens = False

    fleet.tend()
    third: Any = fleet.board(THREE)
    assert (len(yard.servers), third.pid) == (2, 1)  # until the new one listens

    yard.servers[1].listens = True
    fleet.tend()
    fleet.leave(ONE)
    fleet.leave(TWO)
    fleet.tend()
    assert yard.servers[0].alive  # THREE is there
    fleet.leave(THREE)
    fleet.tend()

    assert not yard.servers[0].alive
    assert yard.servers[0].cleared
    fourth: Any = fleet.board(ONE)
    assert fourth.pid == 2


def test_a_server_that_has_grown_is_replaced(fleet: ServerFleet, yard: Yard) -> None:
    fleet.board(ONE)
    yard.memory = 1001

    fleet.tend()
    fleet.tend()

    assert len(yard.servers) == 2
    second: Any = fleet.board(TWO)
    assert second.pid == 2


def test_a_successor_that_cannot_start_leaves_the_worn_one_in_place(
    fleet: ServerFleet, yard: Yard
) -> None:
    fleet.board(ONE)
    fleet.board(TWO)
    yard.listens = False
    fleet.tend()
    yard.servers[1].fails = True

    fleet.tend()

    current: Any = fleet.board(THREE)
    assert current.pid == 1
    assert [server.cleared for server in yard.servers[:2]] == [False, True]


def test_a_server_that_nobody_uses_stops(fleet: ServerFleet, yard: Yard, clock: FakeClock) -> None:
    fleet.board(ONE)
    clock.advance(100)
    fleet.tend()
    assert yard.servers[0].alive

    fleet.leave(ONE)
    clock.advance(59)
    fleet.tend()
    assert yard.servers[0].alive
    clock.advance(1)
    fleet.tend()

    assert not yard.servers[0].alive
    assert fleet.is_empty


def test_a_server_that_does_not_answer_is_killed(
    fleet: ServerFleet, yard: Yard, clock: FakeClock
) -> None:
    fleet.board(ONE)
    clock.advance(6)
    fleet.tend()
    yard.servers[0].answers = False
    for _ in range(4):
        clock.advance(6)
        fleet.tend()
    assert yard.servers[0].alive
    clock.advance(6)
    fleet.tend()

    assert not yard.servers[0].alive
    assert yard.servers[0].cleared
    assert fleet.of(ONE) is None


def test_a_server_that_starts_may_be_silent_for_a_while(
    fleet: ServerFleet, yard: Yard, clock: FakeClock
) -> None:
    yard.listens = False
    fleet.board(ONE)
    clock.advance(100)
    fleet.tend()
    assert yard.servers[0].alive

    for _ in range(10):
        clock.advance(10)
        fleet.tend()

    assert not yard.servers[0].alive


def test_nothing_is_left_of_a_server_that_has_died(fleet: ServerFleet, yard: Yard) -> None:
    fleet.board(ONE)
    yard.servers[0].alive = False
    assert not yard.servers[0].cleared

    fleet.tend()

    assert yard.servers[0].cleared
    assert fleet.is_empty


def test_nothing_is_left_when_the_worker_ends(fleet: ServerFleet, yard: Yard) -> None:
    fleet.board(ONE)

    fleet.close(grace=0)

    assert not yard.servers[0].alive
    assert yard.servers[0].cleared


def test_a_server_ends_by_itself_with_the_first_of_the_attempts_that_work_there(
    fleet: ServerFleet,
) -> None:
    moments = {ONE: 10.0, TWO: 12.0}
    fleet.hold(lambda key: moments.get(key, 0.0))
    server: Any = fleet.board(ONE)
    assert server.until == 10
    fleet.board(TWO)
    assert server.until == 10

    moments |= {ONE: 20.0, TWO: 15.0}
    fleet.hold(lambda key: moments.get(key, 0.0))
    assert server.until == 15

    fleet.rest(TWO)
    assert server.until == 20
    fleet.leave(ONE)
    assert server.until == inf


def test_an_attempt_that_is_over_does_not_end_the_server_of_others(fleet: ServerFleet) -> None:
    fleet.hold(lambda key: 9.0 if key == ONE else 0.0)
    server: Any = fleet.board(ONE)
    fleet.board(TWO)  # which had ended while it was given its place

    assert server.until == 9
    fleet.leave(ONE)
    assert server.until == inf
