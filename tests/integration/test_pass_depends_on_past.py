"""depends_on_past: a task waits for itself in the run before, and is woken when that ends."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from headway.db import runs
from headway.db.processes import Identity
from headway.domain.retry import Next
from headway.domain.spec import DagSpec
from headway.domain.states import Outcome, TaskState
from headway.testing import seed
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.specs import Specs

FAILED = Next(TaskState.FAILED)


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine)


def settle(engine: Engine, me: Identity, limit: int = 20) -> int:
    return schedule_tasks(engine, me, Specs(), seed.START, limit)


def holding_back() -> DagSpec:
    return seed.dag(replace(seed.task("work"), depends_on_past=True))


def start_days(engine: Engine, version: int, days: int) -> list[int]:
    ids = seed.create_runs(engine, version, range(days))
    with engine.begin() as conn:
        runs.start(conn, ids, seed.START)
    return ids


def test_a_task_waits_for_itself_in_the_run_before(engine: Engine, me: Identity) -> None:
    first, second, third = start_days(engine, seed.store(engine, holding_back()), 3)
    while settle(engine, me):
        pass
    assert seed.task_states(engine, first) == {"work": "scheduled"}
    assert seed.task_states(engine, second) == {"work": "none"}

    seed.finish(engine)
    while settle(engine, me):
        pass

    assert seed.task_states(engine, second) == {"work": "scheduled"}
    assert seed.task_states(engine, third) == {"work": "none"}


def test_a_task_waits_while_the_run_before_has_not_started(engine: Engine, me: Identity) -> None:
    first, second = seed.create_runs(engine, seed.store(engine, holding_back()), [0, 1])
    with engine.begin() as conn:
        runs.start(conn, [second], seed.START)
    settle(engine, me)
    assert seed.task_states(engine, second) == {"work": "none"}

    with engine.begin() as conn:
        runs.start(conn, [first], seed.START)
    settle(engine, me)
    seed.finish(engine)
    while settle(engine, me):
        pass

    assert seed.task_states(engine, first) == {"work": "success"}
    assert seed.task_states(engine, second) == {"work": "scheduled"}


def test_a_failure_holds_back_the_run_after(engine: Engine, me: Identity) -> None:
    _, second = start_days(engine, seed.store(engine, holding_back()), 2)
    while settle(engine, me):
        pass
    seed.finish(engine, Outcome.FAILED, FAILED)
    while settle(engine, me):
        pass

    assert seed.task_states(engine, second) == {"work": "none"}
    assert seed.run_states(engine) == {"failed": 1, "running": 1}


def test_a_task_that_depends_on_its_past_since_this_version_is_woken(
    engine: Engine, me: Identity
) -> None:
    """The run before is of a version in which nothing depended on the past."""
    first = seed.start_run(engine, seed.dag())
    second = seed.start_run(engine, holding_back(), day=1)
    while settle(engine, me):
        pass
    assert seed.task_states(engine, second) == {"work": "none"}

    seed.finish(engine)
    while settle(engine, me):
        pass

    assert seed.task_states(engine, first) == {"work": "success"}
    assert seed.task_states(engine, second) == {"work": "scheduled"}


def test_a_run_that_starts_while_its_past_is_being_skipped_is_woken(
    engine: Engine, me: Identity
) -> None:
    """It is settled on the old states, by another scheduler, before these are committed."""
    spec = seed.dag(seed.task("gate"), replace(seed.task("work", "gate"), depends_on_past=True))
    first, second = seed.create_runs(engine, seed.store(engine, spec), [0, 1])
    with engine.begin() as conn:
        runs.start(conn, [first], seed.START)
    while settle(engine, me):
        pass
    seed.finish(engine, Outcome.SKIPPED, Next(TaskState.SKIPPED))
    other = seed.register(engine)

    def start_the_next_run() -> None:
        with engine.begin() as conn:
            runs.start(conn, [second], seed.START)
        settle(engine, other)
        seed.finish(engine)
        settle(engine, other)
        assert seed.task_states(engine, second) == {"gate": "success", "work": "none"}

    schedule_tasks(engine, me, Specs(), seed.START, 20, before_commit=start_the_next_run)
    assert seed.task_states(engine, first) == {"gate": "skipped", "work": "skipped"}
    settle(engine, me)

    assert seed.task_states(engine, second) == {"gate": "success", "work": "scheduled"}
