"""Faults at every statement of every pass: nothing is done by halves, and nothing twice.

F1: the process dies.  F6: the server answers by an error that may pass.  F7: the answer to
the COMMIT is lost.  In each case the pass is done again, by this scheduler or another.
"""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.core import engine as engines
from headway.db.core import run_deadlines
from headway.db.core.engine import is_transient
from headway.db.scheduling import queued_runs
from headway.db.scheduling import tasks as tasks_of
from headway.domain.dag.deadline import DeadlineSpec
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_POOL, MapInput, TaskSpec
from headway.domain.states import Outcome, TaskState
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.faults import TRANSIENT, Crash, crashing, failing, losing_the_answer
from headway.testing.database.postgres import ThrowawayPostgres
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.judge_deadlines import judge_deadlines
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.replica.replica import Replica
from headway_scheduler.replica.specs import Specs

NOW = seed.START + 3 * seed.DAY
LATER = seed.START + 100_000 * seed.DAY
FAILED = Next(TaskState.FAILED)
HOURLY = (DeadlineSpec(seconds=3600.0),)

TABLES = [
    text("SELECT dag_id, planned_version_id = version_id, next_run_after FROM dag ORDER BY 1"),
    text("""
        SELECT dag_id, run_id, state, unfinished, end_as, started_at, parse_requested_at,
               least(ended_at, CAST('2025-01-01' AS timestamptz))  -- tasks end by the real clock
          FROM dag_run ORDER BY dag_id, run_id
    """),
    text("""
        SELECT run.dag_id, run_id, task_id, map_index, task.state, attempt, failures, losses,
               rank, limited, up_total, up_success, up_failed, up_upstream_failed, up_skipped
          FROM task_instance AS task JOIN dag_run AS run ON run.id = dag_run_id
         ORDER BY 1, 2, 3, 4
    """),
    text("""
        SELECT run.dag_id, run_id, task_id, map_index, it.attempt, phase, it.queue, it.rank
          FROM task_attempt AS it
          JOIN task_instance AS task ON task.id = task_instance_id
          JOIN dag_run AS run ON run.id = dag_run_id
         ORDER BY 1, 2, 3, 4, 5
    """),
    text("""
        SELECT dag_id, run_id, task_id, wake.state
          FROM wake JOIN dag_run AS run ON run.id = dag_run_id ORDER BY 1, 2, 3, 4
    """),
    text("""
        SELECT dag_id, run_id, task_id, it.name, it.state
          FROM deadline AS it JOIN dag_run AS run ON run.id = dag_run_id ORDER BY 1, 2, 3, 4
    """),
    text("SELECT action, dag_id, run_id, task_id FROM event ORDER BY 1, 2, 3, 4"),
]
"""Everything that the passes write, but what the database numbers and what its clock says."""

Pass: TypeAlias = Callable[[Replica], object]
Prepare: TypeAlias = Callable[[Engine], None]
Stored: TypeAlias = list[list[tuple[object, ...]]]


def stored(engine: Engine) -> Stored:
    with engine.connect() as conn:
        return [[tuple(row) for row in conn.execute(table)] for table in TABLES]


def create(replica: Replica) -> object:
    return create_runs(replica, NOW)


def start(replica: Replica) -> object:
    return start_runs(replica, NOW)


def settle(replica: Replica) -> object:
    return schedule_tasks(replica, NOW).runs


def retry(replica: Replica) -> object:
    return schedule_retries(replica, LATER)


def queue(replica: Replica) -> object:
    return queue_tasks(replica, DEFAULT_POOL, NOW)


def end_overdue(replica: Replica) -> object:
    return time_out(replica, NOW)


def judge(replica: Replica) -> object:
    return judge_deadlines(replica, LATER)


def take_back(replica: Replica) -> object:
    return revoke(replica, NOW)


def two_dags_that_are_due(engine: Engine) -> None:
    seed.store(engine, replace(seed.dag(dag_id="one"), deadlines=HOURLY))
    seed.store(engine, replace(seed.dag(dag_id="two"), catchup=False))


def runs_that_wait(engine: Engine) -> None:
    """Some whose first tasks are known, some that must be looked at, and some to be parsed for."""
    past = replace(seed.task("past"), depends_on_past=True)
    late = replace(seed.dag(dag_id="three"), reparse_on_run=True)
    for spec in (seed.wide(3, "one"), seed.dag(past, dag_id="two"), late):
        seed.create_runs(engine, seed.store(engine, replace(spec, max_active_runs=2)), [0, 1])


def mapped(length: int) -> TaskSpec:
    return replace(seed.task("each", "a"), mapped_over=(MapInput(argument="n", length=length),))


def runs_in_which_something_has_ended(engine: Engine) -> None:
    """All that a settling pass comes across, in one batch."""
    a, b = seed.task("a"), seed.task("b", "a")
    past = replace(b, depends_on_past=True)
    ended = seed.start_run(engine, seed.dag(a, dag_id="over"))
    for name, task in {
        "counted": b,
        "mapped": mapped(3),
        "too_long": mapped(100_001),
        "past": past,
    }.items():
        seed.start_run(engine, seed.dag(a, task, seed.task("c", task.task_id), dag_id=name))
    first_pass = text("UPDATE task_instance SET state = 'scheduled' WHERE task_id = 'a'")
    with engine.begin() as conn:
        conn.execute(first_pass)
    seed.finish(engine)
    seed.start_run(engine, seed.dag(a, b, seed.task("c", "b"), dag_id="fails"))
    seed.finish(engine, Outcome.FAILED, FAILED)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET unfinished = 1 WHERE id = :run"), {"run": ended})
        [other] = seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="queued")), [0])
        conn.execute(text("INSERT INTO wake (dag_run_id) VALUES (:run)"), {"run": other})


def tasks_to_be_tried_again(engine: Engine) -> None:
    again = Next(TaskState.UP_FOR_RETRY, timedelta(0))
    seed.report(engine, seed.running(engine, seed.wide(3)), Outcome.FAILED, again)


def tasks_that_are_ready(engine: Engine) -> None:
    """Of two DAGs, one of them under narrower limits, in more queues than one."""
    seed.register(engine, "worker")
    seed.scheduled(engine, replace(seed.wide(5, "one"), max_active_tasks=3))
    limited = replace(seed.wide(5, "two"), max_active_tasks_per_dagrun=2)
    seed.scheduled(engine, limited)


def runs_that_take_too_long(engine: Engine) -> None:
    """In each a task that runs, one in the queue, one that is ready and one that waits."""
    tasks = [seed.task("a"), seed.task("b"), seed.task("c"), seed.task("d", "a")]
    for day in (0, 1):
        seed.start_run(engine, replace(seed.dag(*tasks), dagrun_timeout=60.0), day)
    queue_some = text("SELECT id FROM task_instance WHERE task_id = ANY (:names) ORDER BY id")
    worker = seed.register(engine, "worker")
    for name, claimed in (("a", 2), ("b", 0)):
        with engine.begin() as conn:
            ids = list(conn.scalars(queue_some, {"names": [name]}))
            tasks_of.queue(conn, ids, seed.START, seed.SCHEDULER)
        seed.claim(engine, worker, limit=claimed)


def deadlines_that_are_over(engine: Engine) -> None:
    """Of a run and a task that have not ended, and of those of a run that has."""
    spec = replace(seed.dag(replace(seed.task("a"), slas=HOURLY)), deadlines=HOURLY)
    ids = seed.create_runs(engine, seed.store(engine, spec), [0, 1])
    end = text("""
        UPDATE dag_run SET state = 'success', started_at = schedule_date,
               ended_at = schedule_date + interval '1 hour'
         WHERE id = :run
    """)
    with engine.begin() as conn:
        run_deadlines.enter(conn, ids)
        queued_runs.start(conn, ids, NOW, seed.AGING)
        conn.execute(end, {"run": ids[0]})


def attempts_that_nobody_claims(engine: Engine) -> None:
    seed.queued(engine, seed.wide(3))


def what_the_dead_leave(engine: Engine) -> None:
    """Charges of a scheduler, a run that it has reserved, and attempts of a worker."""
    dead = seed.register(engine)
    seed.running(engine, seed.wide(2, "one"))
    seed.queued(engine, seed.wide(2, "two"))
    long_ago = [
        text("UPDATE task_attempt SET scheduler_id = :dead"),
        text("UPDATE dag_run SET lock_id = :dead WHERE dag_id = 'two'"),
        text("""
            UPDATE process_beat SET beat_at = now() - interval '1 day' FROM process
             WHERE process_id = id AND (id = :dead OR kind = 'worker')
        """),
        text("""
            UPDATE task_attempt SET claimed_until = now() - interval '1 day'
             WHERE phase = 'running'
        """),
    ]
    with engine.begin() as conn:
        for statement in long_ago:
            conn.execute(statement, {"dead": dead.id})


PASSES = pytest.mark.parametrize(
    ("work", "prepare"),
    [
        (create, two_dags_that_are_due),
        (start, runs_that_wait),
        (settle, runs_in_which_something_has_ended),
        (retry, tasks_to_be_tried_again),
        (queue, tasks_that_are_ready),
        (end_overdue, runs_that_take_too_long),
        (judge, deadlines_that_are_over),
        (take_back, attempts_that_nobody_claims),
        (adopt, what_the_dead_leave),
    ],
    ids=["create", "start", "settle", "retry", "queue", "time_out", "judge", "revoke", "adopt"],
)


@pytest.fixture
def elsewhere(
    postgres: ThrowawayPostgres, template: str, address: Callable[[str], str]
) -> Iterator[Engine]:
    """Another database, in which nothing goes wrong."""
    name = f"headway_test_{secrets.token_hex(4)}"
    engine = engines.connect(address(postgres.create_database(name, template)), name="test")
    yield engine
    engine.dispose()
    postgres.drop_database(name)


def undisturbed(engine: Engine, work: Pass, prepare: Prepare, times: int = 1) -> tuple[int, Stored]:
    """Do the pass in peace; return how many statements it takes, and what is stored then."""
    prepare(engine)
    replica = Replica(engine, seed.register(engine), configuration.read(SchedulerSettings))
    with crashing(engine, number=1_000_000) as fault:
        work(replica)
    for _ in range(times - 1):
        work(replica)
    assert fault.seen >= 3
    return fault.seen, stored(engine)


@PASSES
def test_f6_an_error_at_any_statement_leaves_everything_as_it_was_for_another_try(
    engine: Engine, elsewhere: Engine, replica: Replica, work: Pass, prepare: Prepare
) -> None:
    statements, expected = undisturbed(elsewhere, work, prepare)
    prepare(engine)
    before = stored(engine)

    for number in range(1, statements):
        for code in TRANSIENT:
            afresh = replace(replica, specs=Specs())  # so that it fetches versions each time
            with failing(engine, number, code), pytest.raises(DBAPIError) as caught:
                work(afresh)
            assert is_transient(caught.value)
            assert stored(engine) == before
    work(replica)

    assert stored(engine) == expected


@PASSES
def test_f1_a_crash_at_any_statement_leaves_everything_to_another_scheduler(
    engine: Engine,
    elsewhere: Engine,
    new_replica: Callable[..., Replica],
    work: Pass,
    prepare: Prepare,
) -> None:
    statements, expected = undisturbed(elsewhere, work, prepare)
    prepare(engine)
    before = stored(engine)

    for number in range(1, statements + 1):
        with crashing(engine, number), pytest.raises(Crash):
            work(new_replica())
        assert stored(engine) == before
    work(new_replica())

    assert stored(engine) == expected


@PASSES
@pytest.mark.parametrize("committed", [True, False], ids=["committed", "not committed"])
def test_f7_a_pass_is_done_again_whose_commit_was_not_answered_and_does_nothing_twice(
    engine: Engine,
    elsewhere: Engine,
    replica: Replica,
    work: Pass,
    prepare: Prepare,
    committed: bool,
) -> None:
    _, expected = undisturbed(elsewhere, work, prepare, times=2 if committed else 1)
    prepare(engine)

    with losing_the_answer(engine, committed=committed), pytest.raises(DBAPIError) as caught:
        work(replica)
    assert is_transient(caught.value)
    work(replica)

    assert stored(engine) == expected
