"""Fork servers that cannot be had at once."""

from pathlib import Path
from typing import Any

import pytest

from headway.runtime import settings
from headway.runtime.forker import ForkerError, early
from headway.runtime.loop import Pace
from headway.runtime.settings import WorkerSettings
from headway.testing.clock import FakeClock
from headway_worker.launcher import ForkServers, limits_of
from headway_worker.scratch import ScratchFolders


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
def launcher(
    forkers: Forkers, worker_settings: WorkerSettings, clock: FakeClock, tmp_path: Path
) -> ForkServers:
    none: Any = None
    return ForkServers(
        forkers.start, worker_settings, none, ScratchFolders(tmp_path), clock, Pace(retry_first=1)
    )


def test_one_that_is_missing_is_asked_for_ever_more_seldom(
    launcher: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    asked = []
    for _ in range(8):
        assert not launcher.ready()
        asked.append(forkers.asked)
        clock.advance(1)

    assert asked == [1, 2, 2, 3, 3, 3, 3, 4]


def test_probes_hear_whether_there_is_one(
    launcher: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    told = []

    def tell() -> None:
        clock.advance(100)
        launcher.ready()
        told.append(launcher.check().ok)

    tell()
    forkers.there = Started()
    tell()
    tell()
    forkers.there.living = False
    forkers.there = None
    tell()

    assert told == [False, True, True, False]
    assert launcher.check().check == "fork server"


def test_one_that_is_being_started_is_waited_for(
    launcher: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    forkers.there = Started()
    launcher.starting = early.begin(forkers.start)

    launcher.warm_up()

    assert launcher.ready()
    assert forkers.asked == 1


def test_one_that_could_not_be_started_is_asked_for_again_by_who_needs_it(
    launcher: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    launcher.starting = early.begin(forkers.start)

    with pytest.raises(ForkerError, match="nobody listens"):
        launcher.warm_up()
    assert forkers.asked == 2


def test_one_that_was_being_started_is_closed(launcher: ForkServers, forkers: Forkers) -> None:
    forkers.there = Started()
    launcher.starting = early.begin(forkers.start)

    launcher.close()

    assert forkers.there.closed


def test_one_that_comes_back_is_found(
    launcher: ForkServers, forkers: Forkers, clock: FakeClock
) -> None:
    assert not launcher.ready()
    forkers.there = Started()
    assert not launcher.ready()
    clock.advance(1)
    assert launcher.ready()

    forkers.there.living, forkers.there = False, None
    assert not launcher.ready()
    clock.advance(1)
    forkers.there = Started()
    assert launcher.ready()


def test_one_that_must_be_there_is_an_error_without_it(launcher: ForkServers) -> None:
    with pytest.raises(ForkerError, match="nobody listens"):
        launcher.warm_up()


def test_an_attempt_has_the_limits_of_the_settings() -> None:
    limits = limits_of(settings.read(WorkerSettings, attempt_niceness=10), 7.0)

    assert (limits.processes, limits.open_files, limits.memory_bytes) == (4096, 65536, None)
    assert limits.until == 7.0
    assert limits.niceness == 10
