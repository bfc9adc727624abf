"""The pass that takes over what the dead leave."""

from dataclasses import replace
from typing import Any, Final, cast

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import attempts, leases
from headway.db.recovery import ownership
from headway.db.scheduling import scope
from headway.domain.errors import FencedError
from headway.domain.states import OnLost, Outcome
from headway.domain.traces import Span
from headway.metrics.scheduler import ATTEMPTS_LOST
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.traces.traces import Telling, Traces
from headway.testing.data import callbacks, seed
from headway.testing.data.callbacks import ALL, caring
from headway.testing.database.interleaving import just_before
from headway.testing.metrics.metrics import total
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.clean import clean
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica
from headway_scheduler.replica.tracing import Traced

HOUR = 3600.0

SETTINGS: Final = configuration.read(
    SchedulerSettings,
    # The server of these tests is young, and nobody is silent for longer than it is there.
    heartbeat_interval=0.001,
    scheduler_health_check_threshold=0.003,
    orphaned_tasks_check_interval=0.003,
    lease_grace=10,
)

BEAT = text("""
    UPDATE process_beat SET beat_at = now() - make_interval(secs => :age) WHERE process_id = :id
""")

EXPIRE = text("""
    UPDATE task_attempt
       SET claimed_until = now() - make_interval(secs => :age),
           started_at = now() - make_interval(secs => :age + 30)
     WHERE phase = 'running'
""")


def beat_was(engine: Engine, age: float, process: Identity) -> None:
    with engine.begin() as conn:
        conn.execute(BEAT, {"age": age, "id": process.id})


def expire(engine: Engine, age: float = HOUR) -> None:
    """Have all claims, of half a minute each, run out so many seconds ago."""
    with engine.begin() as conn:
        conn.execute(EXPIRE, {"age": age})


def alive(engine: Engine, kind: str = "scheduler") -> Identity:
    """Register a process that is alive for an hour to come."""
    process = seed.register(engine, kind)
    beat_was(engine, -HOUR, process)
    return process


def silent(engine: Engine, kind: str = "scheduler") -> Identity:
    """Register a process that has not been heard of since before the server was started."""
    process = seed.register(engine, kind)
    beat_was(engine, HOUR, process)
    return process


def replica(engine: Engine) -> Replica:
    return Replica(engine, alive(engine), SETTINGS)


def scalars(engine: Engine, query: str) -> list[Any]:
    with engine.connect() as conn:
        return list(conn.scalars(text(query)))


def owners(engine: Engine) -> list[int]:
    return scalars(engine, "SELECT scheduler_id FROM task_attempt ORDER BY task_instance_id")


def give(engine: Engine, owner: Identity) -> None:
    """Make every attempt and every run a charge of that process."""
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_attempt SET scheduler_id = :id"), {"id": owner.id})
        runs = list(conn.scalars(text("SELECT id FROM dag_run")))
        assert scope.lock(conn, runs, owner.id) == runs


@pytest.fixture
def me(engine: Engine) -> Replica:
    return replica(engine)


@pytest.fixture
def worker(engine: Engine) -> Identity:
    return silent(engine, "worker")


@pytest.fixture
def key(engine: Engine, me: Replica, worker: Identity) -> AttemptKey:
    """An attempt of the silent worker that ran out an hour ago; it is this scheduler's charge."""
    seed.queued(engine, seed.dag())
    [claimed] = seed.claim(engine, worker)
    give(engine, me.me)
    expire(engine)
    return claimed.key


def test_a_silent_process_is_fenced_with_an_event(
    engine: Engine, me: Replica, worker: Identity
) -> None:
    assert adopt(me) == 1
    assert adopt(me) == 0

    with engine.begin() as conn:
        with pytest.raises(FencedError):
            processes.confirm(conn, worker)
        event = conn.execute(text("SELECT actor, action, details FROM event")).one()
    assert event == (
        f"scheduler:{me.me.id}",
        "process.dead",
        {"process": worker.id, "kind": "worker", "host": "host", "pid": 1},
    )


def test_the_attempt_of_a_dead_worker_is_tried_again(
    engine: Engine, me: Replica, key: AttemptKey
) -> None:
    lost = total(ATTEMPTS_LOST)

    assert adopt(me) == 2

    assert total(ATTEMPTS_LOST) == lost + 1
    assert seed.task_states(engine) == {"work": "up_for_retry"}
    with engine.begin() as conn:
        assert attempts.reported(conn, key) is Outcome.LOST
        assert conn.scalar(text("SELECT losses FROM task_instance")) == 1
        assert leases.renew(conn, [key], 30) == {}


def test_or_it_fails_by_the_policy_of_its_task(engine: Engine, me: Replica) -> None:
    seed.queued(engine, seed.dag(replace(seed.task("work"), on_lost=OnLost.FAIL)))
    seed.claim(engine, alive(engine, "worker"))
    give(engine, me.me)
    expire(engine)

    adopt(me)

    assert seed.task_states(engine) == {"work": "failed"}


def test_a_lost_attempt_that_is_the_last_one_ends_its_run(
    engine: Engine, me: Replica, key: AttemptKey
) -> None:
    """When it was lost once too often the run is over, and nothing else tells so."""
    schedule_tasks(me, seed.START)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET losses = 1000"))
    adopt(me)

    assert schedule_tasks(me, seed.START).runs == 1
    assert seed.run_states(engine) == {"failed": 1}


def test_an_attempt_is_left_alone_within_the_grace(
    engine: Engine, me: Replica, key: AttemptKey
) -> None:
    """Even that of a worker which is declared dead: it may still be running, elsewhere."""
    expire(engine, 9)
    assert adopt(me) == 1
    assert seed.task_states(engine) == {"work": "running"}

    expire(engine, 11)
    assert adopt(me) == 1
    assert seed.task_states(engine) == {"work": "up_for_retry"}


def test_another_scheduler_takes_nothing_over_twice(
    engine: Engine, me: Replica, key: AttemptKey
) -> None:
    other, others = replica(engine), list[int]()

    assert adopt(me, lambda: others.append(adopt(other))) == 2

    assert others == [0]
    assert scalars(engine, "SELECT losses FROM task_instance") == [1]


def test_a_pass_that_fails_gives_nothing_away(engine: Engine, me: Replica, key: AttemptKey) -> None:
    def fail() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        adopt(me, fail)

    assert seed.task_states(engine) == {"work": "running"}
    assert adopt(me) == 2


@pytest.fixture
def dead(engine: Engine) -> Identity:
    """A silent scheduler with three queued attempts and a reserved run."""
    seed.queued(engine, seed.wide(3))
    dead = silent(engine)
    give(engine, dead)
    return dead


def test_the_charges_of_a_dead_scheduler_are_taken_over(
    engine: Engine, me: Replica, dead: Identity
) -> None:
    assert adopt(me) == 1 + 3 + 1
    assert adopt(me) == 0

    assert owners(engine) == [me.me.id] * 3
    assert scalars(engine, "SELECT lock_id FROM dag_run") == [None]
    assert set(seed.task_states(engine).values()) == {"queued"}
    with engine.connect() as conn:
        details = text("SELECT details FROM event WHERE action = 'ownership.adopted'")
        assert conn.scalar(details) == {"processes": [dead.id], "runs": 1, "attempts": 3}


def test_running_attempts_are_taken_over_and_go_on(
    engine: Engine, me: Replica, dead: Identity
) -> None:
    claimed = seed.claim(engine, alive(engine, "worker"))

    adopt(me)

    assert owners(engine) == [me.me.id] * 3
    keys = [attempt.key for attempt in claimed]
    assert seed.report(engine, keys) == set(keys)


def test_so_are_those_of_one_that_left_in_good_order(engine: Engine, me: Replica) -> None:
    seed.queued(engine, seed.wide(3))
    leaving = alive(engine)
    give(engine, leaving)
    assert adopt(me) == 0
    assert owners(engine) == [leaving.id] * 3

    with engine.begin() as conn:
        processes.leave(conn, leaving)

    assert adopt(me) == 3 + 1
    assert owners(engine) == [me.me.id] * 3
    assert scalars(engine, "SELECT lock_id FROM dag_run") == [None]


@pytest.mark.parametrize("moment", [ownership.RELEASE, ownership.ADOPT], ids=["release", "adopt"])
def test_of_two_that_have_found_the_same_charges_one_gets_them(
    engine: Engine, me: Replica, moment: Any
) -> None:
    """The other one comes when this one has looked, and has taken nothing yet."""
    seed.queued(engine, seed.wide(3))
    leaving, other = alive(engine), replica(engine)
    give(engine, leaving)
    with engine.begin() as conn:
        processes.leave(conn, leaving)
    found: list[int] = []

    with just_before(engine, moment, lambda: found.append(adopt(other))):
        found.append(adopt(me))

    assert sum(found) == 3 + 1
    assert owners(engine) == [other.me.id] * 3


def test_runs_that_a_dead_backfill_has_reserved_are_released(engine: Engine, me: Replica) -> None:
    seed.start_run(engine, seed.dag())
    give(engine, silent(engine, "backfill"))

    assert adopt(me) == 1 + 1

    assert scalars(engine, "SELECT lock_id FROM dag_run") == [None]


def test_what_has_ended_stays_whose_it_was(engine: Engine, me: Replica, dead: Identity) -> None:
    [claimed, *_] = seed.claim(engine, alive(engine, "worker"))
    seed.report(engine, [claimed.key])

    adopt(me)

    assert owners(engine) == [dead.id, me.me.id, me.me.id]


@pytest.mark.parametrize(
    "moment", [processes.END, ownership.RELEASE, ownership.ADOPT], ids=["end", "release", "adopt"]
)
def test_two_schedulers_that_adopt_side_by_side_take_everything_once(
    engine: Engine, me: Replica, dead: Identity, moment: Any
) -> None:
    other, found = replica(engine), list[int]()

    with just_before(engine, moment, lambda: found.append(adopt(other))):
        found.append(adopt(me))

    assert sum(found) == 1 + 3 + 1
    assert len(set(owners(engine))) == 1
    assert len(scalars(engine, "SELECT 1 FROM event WHERE action = 'process.dead'")) == 1


@pytest.mark.parametrize(
    "moment", [ownership.RELEASE, ownership.ADOPT, None], ids=["release", "adopt", "commit"]
)
def test_of_an_adopter_that_dies_half_way_nothing_is_left(
    engine: Engine, me: Replica, dead: Identity, moment: Any
) -> None:
    def die() -> None:
        raise ConnectionError

    def adopt_and_die() -> None:
        if moment is None:
            adopt(me, die)
        else:
            with just_before(engine, moment, die):
                adopt(me)

    with pytest.raises(ConnectionError):
        adopt_and_die()

    assert owners(engine) == [dead.id] * 3
    assert scalars(engine, "SELECT lock_id FROM dag_run") == [dead.id]
    assert adopt(replica(engine)) == 1 + 3 + 1


def test_a_charge_that_somebody_has_locked_is_taken_over_later(
    engine: Engine, me: Replica, dead: Identity
) -> None:
    """Adoption waits for nobody."""
    keys = [attempt.key for attempt in seed.claim(engine, alive(engine, "worker"))]
    told = [attempts.Report(key=keys[0], outcome=Outcome.SUCCESS, following=seed.SUCCESS)]
    with engine.connect() as worker:
        attempts.report(worker, told)
        assert adopt(me) == 1 + 2 + 1
        worker.rollback()

    assert owners(engine) == [dead.id, me.me.id, me.me.id]
    assert adopt(me) == 1
    assert owners(engine) == [me.me.id] * 3


def test_one_that_was_declared_dead_and_comes_back_adopts_nothing(
    engine: Engine, me: Replica, dead: Identity
) -> None:
    adopt(me)

    with pytest.raises(FencedError):
        adopt(Replica(engine, dead, SETTINGS))


def run_out(engine: Engine, me: Replica, worker: Identity, tasks: int) -> None:
    """Have so many attempts of the worker run out, eleven seconds ago."""
    seed.queued(engine, seed.wide(tasks))
    seed.claim(engine, worker)
    give(engine, me.me)
    expire(engine, 11)


def test_when_many_leases_run_out_at_once_the_living_have_longer(
    engine: Engine, me: Replica
) -> None:
    """Their claims were of 30 s, the grace is 10: they have 10 + 10 + 30 then."""
    run_out(engine, me, alive(engine, "worker"), 11)

    assert adopt(me) == 0
    expire(engine, 49)
    assert adopt(me) == 0
    assert scalars(engine, "SELECT details ->> 'silent' FROM event") == ["11", "11"]

    expire(engine, 51)
    assert adopt(me) == 11


def test_a_few_that_run_out_are_no_storm(engine: Engine, me: Replica) -> None:
    run_out(engine, me, alive(engine, "worker"), 10)

    assert adopt(me) == 10


def test_the_dead_have_no_longer_in_a_storm(engine: Engine, me: Replica) -> None:
    run_out(engine, me, silent(engine, "worker"), 11)

    assert adopt(me) == 1 + 11


def test_when_many_processes_are_silent_at_once_they_have_twice_as_long(
    engine: Engine, me: Replica
) -> None:
    with engine.connect() as conn:
        age = text("SELECT extract(epoch FROM now() - pg_postmaster_start_time())")
        server = float(conn.execute(age).scalar_one())

    def adopted(threshold: float) -> int:
        often = {"heartbeat_interval": 0.001, "orphaned_tasks_check_interval": 0.003}
        late = dict.fromkeys(("outage_threshold", "task_queued_timeout"), 600 + server)
        given = configuration.read(
            SchedulerSettings, scheduler_health_check_threshold=threshold, **often, **late
        )
        return adopt(replace(me, settings=given))

    for _ in range(11):
        silent(engine)

    assert adopted(threshold=server * 0.7) == 0
    assert scalars(engine, "SELECT action FROM event") == ["processes.held"]
    assert adopted(threshold=server * 0.3) == 11


def delete_run_alone(engine: Engine) -> None:
    """Delete the run as somebody may who has switched foreign keys off."""
    with engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(text("DELETE FROM dag_run"))


@pytest.mark.regression
@pytest.mark.parametrize("state", ["running", "queued"])
def test_what_runs_of_a_run_that_was_deleted_by_hand_ends(engine: Engine, state: str) -> None:
    """Its worker is dead; or it has claimed what nobody can tell it about any more."""
    mine = replica(engine)
    if state == "running":
        seed.running(engine, caring(*ALL))
        delete_run_alone(engine)
    else:
        seed.queued(engine, caring(*ALL))
        delete_run_alone(engine)
        assert seed.claim(engine, alive(engine, "worker")) == []
    expire(engine)

    adopt(mine)
    clean(mine)

    assert seed.task_states(engine) == {"work": "failed"}
    assert scalars(engine, "SELECT phase FROM task_attempt") == ["ended"]
    assert scalars(engine, "SELECT id FROM callback") == []


@pytest.mark.regression
def test_a_report_is_taken_though_the_run_was_deleted_by_hand(engine: Engine) -> None:
    [key] = seed.running(engine, caring(*ALL))
    delete_run_alone(engine)

    assert callbacks.report(engine, key)

    assert seed.task_states(engine) == {"work": "success"}


class Told:
    """Stands for the thread that sends traces: what it would tell, it keeps."""

    def __init__(self) -> None:
        self.tellings: list[Telling] = []
        self.tell = self.tellings.append

    def spans(self) -> list[Span]:
        return [span for telling in self.tellings for span in telling()]


def test_the_end_of_a_lost_attempt_is_traced_once(
    engine: Engine, me: Replica, key: AttemptKey
) -> None:
    told = Told()
    traced = replace(me, tracing=Traced(cast(Traces, told), engine))

    adopt(traced)
    adopt(traced)

    names = [span.name.partition(" ")[0] for span in told.spans()]
    assert names == ["attempt", "scheduled", "queued", "claimed", "running"]
    assert {span.attributes["headway.outcome"] for span in told.spans()} == {"lost"}
    assert told.spans()[0].error
