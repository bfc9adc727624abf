"""What stopped attempts have left in Spark: held to be there until the opposite is certain."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.runtime.forker import Exit, ForkerError
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.time.clock import FakeClock
from headway_worker.spark.service.cleanup import SessionCleanup

KEY = AttemptKey(7, 1, UUID(int=1))


@dataclass
class Child:
    """A process that ends a session, and ends as the test says."""

    exit: Exit | None = None
    closed: bool = False

    def poll(self) -> Exit | None:
        return self.exit

    def close(self) -> None:
        self.closed = True


@dataclass
class Spark:
    """A Spark that starts such processes."""

    children: list[Child] = field(default_factory=list)
    gone: bool = False
    down: bool = False
    own: bool = True
    killed: bool = False
    ended: list[AttemptKey] = field(default_factory=list)

    def is_gone(self, _key: AttemptKey) -> bool:
        return self.gone

    def is_own(self, _key: AttemptKey) -> bool:
        return self.own

    def release(self, _key: AttemptKey, _session_id: str) -> Any:
        if self.down:
            raise ForkerError("it has died")
        self.children.append(Child())
        return self.children[-1]

    def end_python(self, keys: Sequence[AttemptKey]) -> None:
        self.ended.extend(keys)

    def kill_server(self, _key: AttemptKey) -> None:
        self.killed = True


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def spark() -> Spark:
    return Spark()


@dataclass
class FakeLeaseKeeper:
    """What says which attempts were lost."""

    lost: set[AttemptKey] = field(default_factory=set)

    def has_ended(self, key: AttemptKey) -> bool:
        return key in self.lost


@pytest.fixture
def leases() -> FakeLeaseKeeper:
    return FakeLeaseKeeper()


@pytest.fixture
def cleanup(spark: Any, leases: Any, clock: FakeClock) -> SessionCleanup:
    given = configuration.read(WorkerSettings, spark_detached_timeout=300, kill_grace=5)
    return SessionCleanup(spark, leases, given, clock)


def test_nothing_is_under_way_of_an_attempt_that_has_left_nothing(
    cleanup: SessionCleanup,
) -> None:
    assert not cleanup.under_way(KEY)
    assert cleanup.problem(KEY) is None


def test_it_is_under_way_until_the_end_is_certain(cleanup: SessionCleanup, spark: Spark) -> None:
    cleanup.begin(KEY, "s")
    cleanup.begin(KEY, "s")
    cleanup.step()
    assert cleanup.under_way(KEY)

    spark.children[0].exit = Exit(code=0)
    cleanup.step()

    assert len(spark.children) == 1
    assert spark.children[0].closed
    assert spark.ended == [KEY]
    assert not cleanup.under_way(KEY)
    assert cleanup.problem(KEY) is None


def test_a_server_that_does_not_answer_is_asked_again(
    cleanup: SessionCleanup, spark: Spark, clock: FakeClock
) -> None:
    cleanup.begin(KEY, "s")
    spark.children[0].exit = Exit(code=1)
    cleanup.step()
    assert len(spark.children) == 1  # not at once
    clock.advance(1)
    cleanup.step()
    assert len(spark.children) == 2
    assert cleanup.under_way(KEY)

    spark.children[1].exit = Exit(code=0)
    cleanup.step()

    assert not cleanup.under_way(KEY)


def test_what_died_with_its_server_has_ended(cleanup: SessionCleanup, spark: Spark) -> None:
    spark.gone = True
    cleanup.begin(KEY, "s")

    assert not cleanup.under_way(KEY)
    assert spark.children == []


def test_a_server_of_the_workers_own_that_never_obeys_is_killed(
    cleanup: SessionCleanup, spark: Spark, clock: FakeClock
) -> None:
    spark.down = True
    cleanup.begin(KEY, "s", patience=5)
    clock.advance(19)
    cleanup.step()
    assert not spark.killed
    assert cleanup.under_way(KEY)
    clock.advance(1)
    cleanup.step()
    assert spark.killed

    spark.gone = True
    cleanup.step()

    assert not cleanup.under_way(KEY)
    assert cleanup.problem(KEY) is None


@pytest.mark.parametrize(("patience", "seconds"), [(None, 300), (5, 5), (1000, 300)])
def test_a_server_elsewhere_that_does_not_answer_is_given_up(
    cleanup: SessionCleanup,
    spark: Spark,
    clock: FakeClock,
    patience: float | None,
    seconds: float,
) -> None:
    spark.own, spark.down = False, True
    cleanup.begin(KEY, "s", patience)
    clock.advance(seconds - 1)
    cleanup.step()
    assert cleanup.under_way(KEY)
    clock.advance(1)
    cleanup.step()

    assert not cleanup.under_way(KEY)
    assert not spark.killed
    assert f"session s could not be ended: for {seconds} s" in str(cleanup.problem(KEY))


def test_a_session_opened_meanwhile_is_ended_as_well(cleanup: SessionCleanup, spark: Spark) -> None:
    cleanup.begin(KEY, "s")
    spark.children[0].exit = Exit(code=0)
    cleanup.step()

    cleanup.begin(KEY, "other")

    assert cleanup.under_way(KEY)
    assert len(spark.children) == 2


@pytest.mark.parametrize("lost_after", [0, 3, 18])
def test_the_server_of_an_attempt_that_was_lost_is_killed_before_its_lease_runs_out(
    cleanup: SessionCleanup,
    spark: Spark,
    leases: FakeLeaseKeeper,
    clock: FakeClock,
    lost_after: float,
) -> None:
    """However long the process that asks it to end the session is still waiting for that."""
    cleanup.begin(KEY, "s")
    clock.advance(lost_after)
    cleanup.step()

    leases.lost.add(KEY)
    cleanup.step()
    left = min(5 / 2, 20 - lost_after)  # half of `kill_grace`, as its nanny has it
    clock.advance(left - 0.1)
    cleanup.step()
    assert not spark.killed
    clock.advance(0.1)
    cleanup.step()

    assert spark.killed
    assert spark.children[0].exit is None


def test_no_server_elsewhere_is_killed_for_an_attempt_that_was_lost(
    cleanup: SessionCleanup, spark: Spark, leases: FakeLeaseKeeper, clock: FakeClock
) -> None:
    spark.own = False
    leases.lost.add(KEY)
    cleanup.begin(KEY, "s")
    clock.advance(60)
    cleanup.step()

    assert not spark.killed
    assert cleanup.under_way(KEY)
