"""I11: one poisonous DAG or run is set aside and told of; the others go on."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.domain.dag.spec import DEFAULT_POOL
from headway.domain.errors import FencedError, ReplicaError
from headway.testing.data import seed
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.replica.quarantine import ASIDE, SILENCE
from headway_scheduler.replica.replica import Replica

NOW = seed.START + seed.DAY

POISON = text("""
    CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'this is poison'; END $$
""")
CHAIN = seed.dag(seed.task("a"), seed.task("b", "a"))


@dataclass(frozen=True, slots=True)
class Case:
    """A pass, what it finds, at which of its writes it fails, and how what it does is seen."""

    work: Callable[..., object]
    prepare: Callable[[Engine, str], object]
    write: str
    kind: str
    done: str


def store(engine: Engine, dag_id: str) -> None:
    seed.store(engine, seed.dag(dag_id=dag_id))


def let_wait(engine: Engine, dag_id: str) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag(dag_id=dag_id)), [0])


def let_end(engine: Engine, dag_id: str) -> None:
    seed.start_run(engine, replace(CHAIN, dag_id=dag_id))
    seed.finish(engine)


def make_ready(engine: Engine, dag_id: str) -> None:
    seed.scheduled(engine, seed.dag(dag_id=dag_id))


def let_take_too_long(engine: Engine, dag_id: str) -> None:
    seed.start_run(engine, replace(CHAIN, dag_id=dag_id, dagrun_timeout=60.0))


CASES = {
    "create": Case(
        create_runs,
        store,
        "INSERT ON dag_run",
        "dag",
        "SELECT dag_id FROM dag_run",
    ),
    "start": Case(
        start_runs,
        let_wait,
        "INSERT ON task_instance",
        "dag",
        "SELECT dag_id FROM dag_run WHERE state = 'running'",
    ),
    "settle": Case(
        schedule_tasks,
        let_end,
        "UPDATE ON dag_run",
        "run",
        "SELECT dag_id FROM task_instance WHERE task_id = 'b' AND state = 'scheduled'",
    ),
    "time_out": Case(
        time_out,
        let_take_too_long,
        "UPDATE ON dag_run",
        "run",
        "SELECT dag_id FROM dag_run WHERE end_as = 'failed'",
    ),
    "queue": Case(
        lambda replica, now, *seam: queue_tasks(replica, DEFAULT_POOL, now, *seam),
        make_ready,
        "INSERT ON task_attempt",
        "dag",
        "SELECT dag_id FROM task_instance WHERE state = 'queued'",
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, engine: Engine) -> Case:
    """One pass, with one DAG in three that it fails on."""
    case = CASES[request.param]
    seed.register(engine, "worker")
    for dag_id in ("good", "poison", "well"):
        case.prepare(engine, dag_id)
    trigger = text(f"""
        CREATE TRIGGER poison BEFORE {case.write} FOR EACH ROW
          WHEN (NEW.dag_id = 'poison') EXECUTE FUNCTION poison()
    """)
    with engine.begin() as conn:
        conn.execute(POISON)
        conn.execute(trigger)
    return case


def cure(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(text("DROP FUNCTION poison CASCADE"))


def done(engine: Engine, case: Case) -> set[str]:
    with engine.connect() as conn:
        return set(conn.scalars(text(case.done)))


def told(engine: Engine) -> list[tuple[str, str, str | None, str]]:
    """Return what the journal says of poison: action, DAG, run, error."""
    rows = text("""
        SELECT action, dag_id, run_id, details ->> 'error' FROM event
         WHERE action LIKE '%.quarantine' ORDER BY id
    """)
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(rows)]


def test_the_others_go_on_in_the_same_pass_and_it_is_told(
    engine: Engine, replica: Replica, case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    case.work(replica, NOW)

    assert done(engine, case) == {"good", "well"}
    [(action, dag_id, run_id, error)] = told(engine)
    assert (action, dag_id) == (f"{case.kind}.quarantine", "poison")
    assert (run_id is None) is (case.kind == "dag")
    assert error.startswith("InternalError: this is poison")
    [logged] = [
        record for record in caplog.records if record.message.startswith("action=quarantine")
    ]
    assert logged.levelno == logging.ERROR
    assert logged.exc_info is not None


def test_it_is_left_alone_for_a_while_and_then_tried_again(
    engine: Engine, replica: Replica, case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    case.work(replica, NOW)
    cure(engine)
    caplog.clear()

    case.work(replica, NOW + ASIDE - timedelta(seconds=1))
    assert done(engine, case) == {"good", "well"}

    case.work(replica, NOW + ASIDE)
    assert done(engine, case) == {"good", "well", "poison"}
    assert caplog.messages == [
        message for message in caplog.messages if not message.startswith("action=isolate")
    ]


def test_it_is_told_of_once_an_hour(engine: Engine, replica: Replica, case: Case) -> None:
    for number in range(7):
        case.work(replica, NOW + number * ASIDE)

    assert len(told(engine)) == 2, "at first, and when an hour is over"
    assert SILENCE == 6 * ASIDE


def test_what_is_set_aside_does_not_fill_the_batch(
    engine: Engine, new_replica: Callable[..., Replica], case: Case
) -> None:
    one_at_a_time = new_replica(
        max_dagruns_to_create_per_loop=1, max_dagruns_per_loop_to_schedule=1, max_tis_per_query=1
    )

    for _ in range(4):
        case.work(one_at_a_time, NOW)

    assert done(engine, case) == {"good", "well"}
    assert len(told(engine)) == 1


def test_each_replica_finds_out_for_itself(
    engine: Engine, new_replica: Callable[..., Replica], case: Case
) -> None:
    """The fault may be that of a replica: of another release, perhaps."""
    case.work(new_replica(), NOW)
    cure(engine)
    case.work(new_replica(), NOW)

    assert done(engine, case) == {"good", "well", "poison"}


def test_an_error_that_may_pass_is_not_held_against_anybody(
    engine: Engine, replica: Replica, case: Case
) -> None:
    """It hits when they are taken one by one: the first to come to its commit."""

    def lose_the_primary() -> None:
        raise ReplicaError("The database is a read-only replica now.")

    with pytest.raises(ReplicaError):
        case.work(replica, NOW, lose_the_primary)
    assert (done(engine, case), told(engine)) == (set(), [])

    case.work(replica, NOW)
    assert done(engine, case) == {"good", "well"}
    assert len(told(engine)) == 1


def test_a_process_that_was_declared_dead_isolates_nothing(
    engine: Engine, replica: Replica, case: Case
) -> None:
    with engine.begin() as conn:
        processes.leave(conn, replica.me)

    with pytest.raises(FencedError):
        case.work(replica, NOW)
    assert told(engine) == []


def test_tasks_under_narrower_limits_are_set_aside_as_well(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    seed.register(engine, "worker")
    for dag_id in ("poison", "well"):
        seed.scheduled(engine, replace(seed.dag(dag_id=dag_id), max_active_tasks_per_dagrun=1))
    with engine.begin() as conn:
        conn.execute(POISON)
        conn.execute(
            text("""
                CREATE TRIGGER poison BEFORE INSERT ON task_attempt FOR EACH ROW
                  WHEN (NEW.dag_id = 'poison') EXECUTE FUNCTION poison()
            """)
        )
    one_at_a_time = new_replica(max_tis_per_query=1)

    for _ in range(3):
        queue_tasks(one_at_a_time, DEFAULT_POOL, NOW)

    assert done(engine, CASES["queue"]) == {"well"}
    assert len(told(engine)) == 1


def test_a_fact_that_makes_no_sense_is_poison_for_its_run_alone(
    engine: Engine, replica: Replica
) -> None:
    for dag_id in ("good", "poison", "well"):
        let_end(engine, dag_id)
    unchecked = text("ALTER TABLE wake DROP CONSTRAINT wake_state_check")
    nonsense = text("UPDATE wake SET state = 'nonsense' WHERE dag_run_id = 2")
    with engine.begin() as conn:
        conn.execute(unchecked)
        conn.execute(nonsense)

    assert schedule_tasks(replica, NOW).runs == 2

    states = text("SELECT state FROM task_instance WHERE task_id = 'b'")
    with engine.connect() as conn:
        assert Counter(conn.scalars(states)) == {"scheduled": 2, "none": 1}
    [(action, dag_id, run_id, error)] = told(engine)
    assert (action, dag_id, run_id) == (
        "run.quarantine",
        "poison",
        "scheduled__2024-01-01T00:00:00+00:00",
    )
    assert "nonsense" in error


def test_a_run_whose_deadline_cannot_be_told_is_poison_for_its_dag_alone(
    engine: Engine, replica: Replica
) -> None:
    never = replace(seed.dag(dag_id="poison"), dagrun_timeout=1e300)
    for spec in (never, seed.dag(dag_id="good")):
        seed.create_runs(engine, seed.store(engine, spec), [0])

    assert start_runs(replica, NOW) == 1
    assert seed.run_states(engine) == {"queued": 1, "running": 1}
    assert [event[:2] for event in told(engine)] == [("dag.quarantine", "poison")]
