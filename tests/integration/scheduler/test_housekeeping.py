"""When a scheduler judges others by their silence, and when it had better wait."""

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.domain.errors import FencedError
from headway.testing.data import seed
from headway.testing.time.clock import FakeClock
from headway_scheduler.jobs.housekeeping import Housekeeping
from headway_scheduler.replica.replica import Replica

PAST = text("UPDATE task_attempt SET claimed_until = now() - interval '1 hour'")
OUTCOMES = text("SELECT outcome FROM task_attempt")


def outcomes(engine: Engine) -> list[str | None]:
    with engine.connect() as conn:
        return list(conn.scalars(OUTCOMES))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def threshold(replica: Replica) -> float:
    return replica.settings.scheduler_health_check_threshold


@pytest.fixture
def home(engine: Engine, replica: Replica, clock: FakeClock) -> Housekeeping:
    """The chores of a scheduler beside an attempt whose worker has not renewed it."""
    housekeeping = Housekeeping(replica, clock)
    housekeeping.step()
    seed.running(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(PAST)
    return housekeeping


def test_what_has_run_out_is_taken_at_the_next_look(
    engine: Engine, home: Housekeeping, clock: FakeClock, threshold: float
) -> None:
    clock.advance(threshold)
    home.step()

    assert outcomes(engine) == ["lost"]


def test_only_what_was_found_is_a_reason_to_look_again_at_once(
    home: Housekeeping, clock: FakeClock, threshold: float
) -> None:
    clock.advance(threshold)
    assert home.step()

    clock.advance(threshold)
    assert not home.step()


def test_after_an_outage_of_its_own_the_others_have_time_to_renew_and_report(
    engine: Engine, home: Housekeeping, clock: FakeClock, threshold: float
) -> None:
    clock.advance(threshold + 1)
    home.step()
    clock.advance(threshold - 1)
    home.step()
    assert outcomes(engine) == [None]

    clock.advance(threshold)
    home.step()

    assert outcomes(engine) == ["lost"]


def test_meanwhile_it_finds_out_that_it_was_declared_dead_itself(
    engine: Engine, replica: Replica, home: Housekeeping, clock: FakeClock, threshold: float
) -> None:
    with engine.begin() as conn:
        conn.execute(processes.END, {"ids": [replica.me.id]})
    clock.advance(threshold + 1)

    with pytest.raises(FencedError):
        home.step()
