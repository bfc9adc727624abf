"""What a service tells probes."""

from collections.abc import Callable

import pytest

from headway.runtime.daemon.bell import Bell
from headway.runtime.health import Health, HealthCheck, ServicePhase
from headway.runtime.health.progress import STUCK_AFTER
from headway.testing.time.clock import FakeClock

ANSWERS = HealthCheck("database", True, "answers")
AWAY = HealthCheck("database", False, "Connection refused")
NEWER = HealthCheck("schema", False, "is 9999; this release needs 0015")


def health_with(*checks: HealthCheck) -> tuple[Health, FakeClock]:
    """A service whose loop has begun, and which finds these checks when it asks the database."""
    clock = FakeClock()
    health = Health(Bell(), clock, lambda _patience: list(checks))
    health.begin()
    health.moved()
    return health, clock


def verdict(checks: list[HealthCheck]) -> dict[str, bool]:
    return {check.check: check.ok for check in checks}


def test_a_service_whose_loop_moves_is_alive_whatever_the_database_does() -> None:
    def ask(_patience: float) -> list[HealthCheck]:
        raise AssertionError("the database was asked")

    health = Health(Bell(), FakeClock(), ask)

    assert verdict(health.alive()) == {"loop": True}


@pytest.mark.parametrize("checks", [(ANSWERS,), (ANSWERS, NEWER), ()])
def test_a_service_whose_loop_is_stuck_is_not_alive(checks: tuple[HealthCheck, ...]) -> None:
    health, clock = health_with(*checks)

    clock.advance(STUCK_AFTER + 1)

    assert verdict(health.alive()) == {"loop": False}


def test_a_loop_that_may_be_waiting_for_the_database_is_left_alone() -> None:
    """Else a server that hangs would have every process started again."""
    health, clock = health_with(AWAY)

    clock.advance(STUCK_AFTER + 1)

    assert verdict(health.alive()) == {"loop": True}
    assert health.alive()[0].found == "last moved 121.0 s ago; the database does not answer"


def test_to_tell_that_it_is_alive_it_waits_for_no_database() -> None:
    waited: list[float] = []

    def ask(patience: float) -> list[HealthCheck]:
        waited.append(patience)
        return [AWAY]

    clock = FakeClock()
    health = Health(Bell(), clock, ask)
    clock.advance(STUCK_AFTER + 1)

    health.alive()

    assert waited == [0.5]


def test_a_service_that_runs_is_ready() -> None:
    health, _ = health_with(ANSWERS)

    assert verdict(health.ready()) == {"service": True, "loop": True, "database": True}


def draining(health: Health) -> None:
    health.phase = ServicePhase.DRAINING


def stopping(health: Health) -> None:
    health.bell.stop()


def lacking(health: Health) -> None:
    health.others.append(lambda: HealthCheck("fork server", False, "is missing"))


@pytest.mark.parametrize(
    ("change", "check", "found"),
    [
        (draining, "service", "draining"),
        (stopping, "service", "stopping"),
        (lacking, "fork server", "is missing"),
    ],
)
def test_what_makes_a_service_not_ready(
    change: Callable[[Health], None], check: str, found: str
) -> None:
    health, _ = health_with(ANSWERS)

    change(health)
    health.moved()

    wrong = [(checked.check, checked.found) for checked in health.ready() if not checked.ok]
    assert wrong == [(check, found)]
    assert verdict(health.alive()) == {"loop": True}


@pytest.mark.parametrize(("checks", "wrong"), [((AWAY,), "database"), ((ANSWERS, NEWER), "schema")])
def test_what_the_database_says_makes_a_service_not_ready(
    checks: tuple[HealthCheck, ...], wrong: str
) -> None:
    health, _ = health_with(*checks)

    assert [check.check for check in health.ready() if not check.ok] == [wrong]


def test_a_service_whose_loop_is_stuck_is_not_ready() -> None:
    health, clock = health_with(ANSWERS)

    clock.advance(STUCK_AFTER + 1)

    assert not verdict(health.ready())["loop"]


def test_a_service_is_ready_once_its_loop_has_begun() -> None:
    health = Health(Bell(), FakeClock())

    phases = [health.ready()[0]]
    health.moved()  # while it waits for the database
    phases.append(health.ready()[0])
    health.begin()
    phases.append(health.ready()[0])
    health.moved()
    phases.append(health.ready()[0])

    assert [(check.ok, check.found) for check in phases] == [
        (False, "waiting for the database"),
        (False, "waiting for the database"),
        (False, "starting"),
        (True, "running"),
    ]
