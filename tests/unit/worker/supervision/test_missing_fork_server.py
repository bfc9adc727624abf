"""Fork servers that cannot be had at once."""

from typing import Any

import pytest

from headway.runtime.daemon.loop import Pace
from headway.runtime.forker import ForkerError, client
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.time.clock import FakeClock
from headway_worker.supervision.fork_servers import ForkServers, limits_of


class Started:
    """A fork server that lives until it is told not to."""

    def __init__(self) -> None:
        self.living = True
        self.closed = False

    def alive(self) -> bool:
        return self.living

    def close(self) -> None:
        self.closed = True


class Forkers:
    """What is to be had, and how often it was asked for."""

    def __init__(self) -> None:
        self.there: Started | None = None
        self.asked = 0

    def start(self) -> Any:
        self.asked += 1
        if self.there is None:
            raise ForkerError("nobody listens")
        return self.there


@pytest.fixture
def forkers() -> Forkers:
    return Forkers()


@pytest.fixture
def servers(forkers: Forkers, clock: FakeClock) -> ForkServers:
    return ForkServers(forkers.start, clock, Pace(retry_first=1))


def test_one_that_is_missing_is_asked_for_ever_more_seldom(
    servers: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    asked = []
    for _ in range(8):
        assert not servers.ready()
        asked.append(forkers.asked)
        clock.advance(1)

    assert asked == [1, 2, 2, 3, 3, 3, 3, 4]


def test_probes_hear_whether_there_is_one(
    servers: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    told = []

    def tell() -> None:
        clock.advance(100)
        servers.ready()
        told.append(servers.check().ok)

    tell()
    forkers.there = Started()
    tell()
    tell()
    forkers.there.living = False
    forkers.there = None
    tell()

    assert told == [False, True, True, False]
    assert servers.check().check == "fork server"


def test_one_that_is_being_started_is_waited_for(
    servers: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    forkers.there = Started()
    servers.starting = client.begin(forkers.start)

    servers.warm_up()

    assert servers.ready()
    assert forkers.asked == 1


def test_one_that_could_not_be_started_is_asked_for_again_by_who_needs_it(
    servers: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    servers.starting = client.begin(forkers.start)

    with pytest.raises(ForkerError, match="nobody listens"):
        servers.warm_up()
    assert forkers.asked == 2


def test_one_that_was_being_started_is_closed(servers: ForkServers, forkers: Forkers) -> None:
    forkers.there = Started()
    servers.starting = client.begin(forkers.start)

    servers.close()

    assert forkers.there.closed


def test_one_that_comes_back_is_found(
    servers: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    assert not servers.ready()
    forkers.there = Started()
    assert not servers.ready()
    clock.advance(1)
    assert servers.ready()

    forkers.there.living, forkers.there = False, None
    assert not servers.ready()
    clock.advance(1)
    forkers.there = Started()
    assert servers.ready()


def test_one_that_must_be_there_is_an_error_without_it(servers: ForkServers) -> None:
    with pytest.raises(ForkerError, match="nobody listens"):
        servers.warm_up()


def test_an_attempt_has_the_limits_of_the_settings() -> None:
    limits = limits_of(configuration.read(WorkerSettings, attempt_niceness=10), 7.0)

    assert (limits.processes, limits.open_files, limits.memory_bytes) == (4096, 65536, None)
    assert limits.until == 7.0
    assert limits.niceness == 10
