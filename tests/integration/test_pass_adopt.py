"""The pass that takes over what the dead leave."""

import pytest
from sqlalchemy import Engine, text

from headway.db import attempts, leases, processes
from headway.db.attempts import AttemptKey
from headway.db.processes import Identity
from headway.domain.errors import FencedError
from headway.domain.states import Outcome
from headway.testing import seed
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.specs import Specs

HOUR = 3600.0

BEAT = text("""
    UPDATE process_beat SET beat_at = now() - make_interval(secs => :age) WHERE process_id = :id
""")


def beat_was(engine: Engine, age: float, process: Identity) -> None:
    with engine.begin() as conn:
        conn.execute(BEAT, {"age": age, "id": process.id})


@pytest.fixture
def me(engine: Engine) -> Identity:
    """A scheduler that is alive for an hour to come."""
    me = seed.register(engine)
    beat_was(engine, -HOUR, me)
    return me


@pytest.fixture
def worker(engine: Engine) -> Identity:
    """A worker that has not been heard of since before the server was started."""
    worker = seed.register(engine, "worker")
    beat_was(engine, HOUR, worker)
    return worker


@pytest.fixture
def key(engine: Engine, worker: Identity) -> AttemptKey:
    """An attempt of the worker whose lease ran out an hour ago."""
    seed.queued(engine, seed.dag())
    [claimed] = seed.claim(engine, worker)
    with engine.begin() as conn:
        conn.execute(text("UPDATE lease SET expires_at = now() - interval '1 hour'"))
    return claimed.key


def take_over(engine: Engine, me: Identity, grace: float = 10) -> int:
    return adopt(engine, me, threshold=0, grace=grace)


def test_a_silent_process_is_fenced_with_an_event(
    engine: Engine, me: Identity, worker: Identity
) -> None:
    assert take_over(engine, me) == 1
    assert take_over(engine, me) == 0

    with engine.begin() as conn:
        with pytest.raises(FencedError):
            processes.confirm(conn, worker)
        event = conn.execute(text("SELECT actor, action, details FROM event")).one()
    assert event == (
        f"scheduler:{me.id}",
        "process.dead",
        {"process": worker.id, "kind": "worker", "host": "host", "pid": 1},
    )


def test_the_attempt_of_a_dead_worker_is_tried_again(
    engine: Engine, me: Identity, key: AttemptKey
) -> None:
    assert take_over(engine, me) == 2

    assert seed.task_states(engine) == {"work": "up_for_retry"}
    with engine.begin() as conn:
        assert attempts.reported(conn, key) is Outcome.LOST
        assert conn.scalar(text("SELECT losses FROM task_instance")) == 1
        assert leases.renew(conn, [key], 30) == set()


def test_a_lost_attempt_wakes_its_run(engine: Engine, me: Identity, key: AttemptKey) -> None:
    """When it was lost once too often the run is over, and nothing else tells so."""
    schedule_tasks(engine, me, Specs(), seed.START, 20)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET losses = 1000"))
    take_over(engine, me)

    assert schedule_tasks(engine, me, Specs(), seed.START, 20) == 1
    assert seed.run_states(engine) == {"failed": 1}


def test_a_lease_is_left_alone_within_the_grace(
    engine: Engine, me: Identity, key: AttemptKey
) -> None:
    assert take_over(engine, me, grace=2 * HOUR) == 1
    assert seed.task_states(engine) == {"work": "running"}


def test_another_scheduler_takes_nothing_over_twice(
    engine: Engine, me: Identity, key: AttemptKey
) -> None:
    other = seed.register(engine)
    beat_was(engine, -HOUR, other)
    others: list[int] = []

    mine = adopt(engine, me, 0, 10, lambda: others.append(take_over(engine, other)))

    assert (mine, others) == (2, [0])
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT losses FROM task_instance")) == 1


def test_a_pass_that_fails_gives_nothing_away(
    engine: Engine, me: Identity, key: AttemptKey
) -> None:
    def fail() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        adopt(engine, me, 0, 10, fail)

    assert seed.task_states(engine) == {"work": "running"}
    assert take_over(engine, me) == 2
