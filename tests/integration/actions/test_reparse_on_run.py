"""Runs that wait for a parse of their DAG file: who asks for it, and whom they hold up."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.actions.change import Author
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.access.logins import Login
from headway.db.core.notices import PARSER, Notice, NoticeSender
from headway.db.parsing import pins
from headway.db.scheduling import queued_runs
from headway.db.users import backfill_plans
from headway.db.users.backfill_plans import NewBackfill
from headway.decide.changes.clear import Selection
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import ConflictError
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway.testing.database.logins import entered, logged_in
from headway.testing.database.query_plans import explained
from headway.testing.time.clock import FakeClock, SetClock
from headway_scheduler.jobs.scheduler_job import SchedulerJob
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 100 * seed.DAY
ANN = Author("user:ann")
NAME = f"scheduled__{seed.START.isoformat()}"
RUN_STATES = text("""
    SELECT pinned, parse_requested_at IS NOT NULL AS parse_requested, state FROM dag_run
     ORDER BY schedule_date, id
""")
WRITTEN = text("SELECT id, xmin FROM dag_run ORDER BY id")


def late(most: int = 16, dag_id: str = "etl") -> DagSpec:
    """A DAG whose runs wait for a parse."""
    return replace(seed.dag(dag_id=dag_id), max_active_runs=most, reparse_on_run=True)


def run_states(engine: Engine) -> list[tuple[bool, bool, str]]:
    """Return, run by run, whether it is pinned, was asked for a parse, and its state."""
    with engine.connect() as conn:
        return [(row.pinned, row.parse_requested, row.state) for row in conn.execute(RUN_STATES)]


def start(replica: Replica) -> tuple[int, int]:
    """Return how many runs were started, and how many parses were requested."""
    requested: list[int] = []
    return start_runs(replica, NOW, parses_requested=requested.append), sum(requested)


def pin(engine: Engine) -> int:
    """Do what a parser does that has parsed every file for which runs wait."""
    with engine.begin() as conn:
        ids = [run for wanted in pins.wanted(conn, "main") for run in wanted.run_ids]
        return pins.pin(conn, ids, "parser:1")


WAITS, REQUESTED = (False, False, "queued"), (False, True, "queued")
READY, RUNS = (True, True, "queued"), (True, True, "running")


@pytest.mark.parametrize("reparse", [True, False])
def test_whoever_creates_runs_leaves_those_that_are_parsed_for_unpinned(
    engine: Engine, replica: Replica, reparse: bool
) -> None:
    seed.store(engine, replace(late(), reparse_on_run=reparse))

    create_runs(replica, seed.START + 1.5 * seed.DAY)
    with engine.begin() as conn:
        trigger(conn, TriggerRequest("etl"), NOW, "user:ann")
        day = seed.START + 5 * seed.DAY
        create_backfill(conn, BackfillRequest("etl", day, day, {}), NOW, "user:ann")

    with engine.connect() as conn:
        created = text("SELECT run_type, pinned FROM dag_run ORDER BY 1")
        assert [tuple(row) for row in conn.execute(created)] == [
            ("backfill", not reparse),
            ("manual", not reparse),
            ("scheduled", not reparse),
        ]


def test_a_run_starts_with_the_version_of_the_parse_that_it_has_waited_for(
    engine: Engine, replica: Replica
) -> None:
    seed.create_runs(engine, seed.store(engine, late()), [0])
    assert start(replica) == (0, 1)
    assert run_states(engine) == [REQUESTED]
    assert seed.task_states(engine) == {}

    tasks = (seed.task("extract"), seed.task("load", "extract"))
    version = seed.store(engine, replace(late(), tasks=tasks))
    assert start(replica) == (0, 0)
    assert pin(engine) == 1
    assert run_states(engine) == [READY]

    assert start(replica) == (1, 0)
    assert run_states(engine) == [RUNS]
    assert seed.task_states(engine) == {"extract": "scheduled", "load": "none"}
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT version_id FROM dag_run")) == version


def test_a_parse_is_asked_for_once_and_a_run_that_waits_is_not_written_again(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    seed.create_runs(engine, seed.store(engine, late()), [0, 1])
    requested: list[int] = []
    other = new_replica()

    first = start_runs(replica, NOW, lambda: requested.append(start(other)[1]), requested.append)
    with engine.connect() as conn:
        written = conn.execute(WRITTEN).all()
        conn.rollback()
        assert start(replica) == start(other) == (0, 0)
        assert conn.execute(WRITTEN).all() == written

    assert (first, requested) == (0, [0, 2])


def test_nothing_is_told_before_it_is_committed(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, late()), [0])
    seen: list[list[tuple[bool, bool, str]]] = []

    start_runs(replica, NOW, lambda: seen.append(run_states(engine)))
    start_runs(replica, NOW, parses_requested=lambda _: seen.append(run_states(engine)))
    assert seen == [[WAITS]]

    seed.create_runs(engine, seed.store(engine, late()), [1])
    start_runs(replica, NOW, parses_requested=lambda _: seen.append(run_states(engine)))
    assert seen[1:] == [[REQUESTED, REQUESTED]]


def test_a_run_that_waits_keeps_its_place(engine: Engine, replica: Replica) -> None:
    """Those after it do not overtake it, and no more are active than may be."""
    seed.create_runs(engine, seed.store(engine, late(most=1)), [0])
    pinned = seed.store(engine, replace(late(most=1), reparse_on_run=False))
    seed.create_runs(engine, pinned, [1])

    assert [start(replica), start(replica)] == [(0, 1), (0, 0)]
    pin(engine)
    assert [start(replica), start(replica)] == [(1, 0), (0, 0)]

    assert run_states(engine) == [RUNS, (True, False, "queued")]


def test_those_after_it_start_if_there_is_room_for_them_too(
    engine: Engine, replica: Replica
) -> None:
    seed.create_runs(engine, seed.store(engine, late(most=2)), [0, 5])
    pinned = seed.store(engine, replace(late(most=2), reparse_on_run=False))
    seed.create_runs(engine, pinned, [1, 2])

    assert [start(replica), start(replica)] == [(1, 1), (0, 0)]

    queued = (True, False, "queued")
    assert run_states(engine) == [REQUESTED, (True, False, "running"), queued, WAITS]


def test_dags_whose_runs_wait_do_not_fill_the_batch(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    for number in range(5):
        seed.create_runs(engine, seed.store(engine, late(2, f"a{number}")), [0, 1])
    assert start(replica) == (0, 10)
    seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="z")), [20])

    assert start(new_replica(max_dagruns_per_loop_to_schedule=2)) == (1, 0)


def test_runs_that_wait_do_not_fill_the_batch(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    """Those of the schedule are older, and all find room; those of the backfill are pinned."""
    seed.create_runs(engine, seed.store(engine, late()), range(10))
    few_at_a_time = new_replica(max_dagruns_per_loop_to_schedule=4)
    assert [start(few_at_a_time) for _ in range(4)] == [(0, 4), (0, 4), (0, 2), (0, 0)]
    pinned = seed.store(engine, replace(late(), reparse_on_run=False))
    with engine.begin() as conn:
        backfill = backfill_plans.create(conn, NewBackfill("etl", seed.START, NOW, 3))
    seed.create_runs(engine, pinned, range(20, 25), backfill)

    assert start(few_at_a_time) == (3, 0)


def test_of_a_backfill_as_many_wait_as_may_be_active(engine: Engine, replica: Replica) -> None:
    seed.store(engine, late())
    with engine.begin() as conn:
        last = seed.START + 4 * seed.DAY
        create_backfill(conn, BackfillRequest("etl", seed.START, last, {}, 2), NOW, "user:ann")

    assert [start(replica), start(replica)] == [(0, 2), (0, 0)]
    assert run_states(engine) == [REQUESTED, REQUESTED, WAITS, WAITS, WAITS]
    assert pin(engine) == 2
    assert start(replica) == (2, 0)
    assert start(replica) == (0, 0)


def test_a_run_that_was_pinned_just_before_it_is_locked_starts(
    engine: Engine, replica: Replica
) -> None:
    """It was not when the pass found it: what counts is what stands under the lock."""
    seed.create_runs(engine, seed.store(engine, late()), [0])

    def be_pinned() -> None:
        with engine.begin() as conn:
            conn.execute(text("UPDATE dag_run SET pinned = true"))

    with just_before(engine, queued_runs.LOCK_QUEUED, be_pinned):
        assert start(replica) == (1, 0)

    assert run_states(engine) == [(True, False, "running")]


def test_runs_that_are_pinned_cost_no_statement_more(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    with explained(engine) as plans:
        assert start(replica) == (1, 0)

    assert list(dict.fromkeys(plan.statement for plan in plans)) == [
        *(
            "processes.CONFIRM_REPEATABLE",
            "queued_runs.LOCK_STARTING",
            "queued_runs.FREE_RUN_SLOTS",
            "queued_runs.QUEUED",
        ),
        *("queued_runs.LOCK_QUEUED", "queued_runs.START"),
    ]


def test_to_clear_a_run_that_waits_changes_nothing(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, late()), [0])
    start(replica)

    with engine.begin() as conn, pytest.raises(ConflictError, match="no task instances yet"):
        clear_tasks(conn, "etl", NAME, Selection(), ANN)

    assert run_states(engine) == [REQUESTED]
    assert start(replica) == (0, 0)


def test_a_run_that_is_cleared_after_it_has_ended_keeps_its_version(
    engine: Engine, replica: Replica
) -> None:
    """It runs again as it was: nothing is parsed for it."""
    version = seed.store(engine, late())
    seed.create_runs(engine, version, [0])
    start(replica)
    pin(engine)
    start(replica)
    seed.finish(engine)
    schedule_tasks(replica, NOW)
    assert seed.run_states(engine) == {"success": 1}
    seed.store(engine, replace(late(), tasks=(seed.task("other"),)))
    with engine.begin() as conn:
        clear_tasks(conn, "etl", NAME, Selection(), ANN)
    assert run_states(engine) == [READY]

    assert start(replica) == (1, 0)
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT version_id FROM dag_run")) == version


def test_a_scheduler_tells_the_parsers_and_looks_for_more(engine: Engine) -> None:
    told: list[Notice] = []
    clock = FakeClock(NOW)
    notifier = NoticeSender(lambda _: None, clock)
    notifier.notify = told.append  # type: ignore[assignment]
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    job = SchedulerJob(replica, SetClock(clock), notifier)
    job.step()
    seed.create_runs(engine, seed.store(engine, replace(late(), catchup=False)), [0])
    while job.collect(job._look()):
        pass

    assert job.step()
    assert told.count(PARSER) == 1
    job.step()
    assert told.count(PARSER) == 1


def test_each_role_may_do_its_part(engine: Engine, database_url: str) -> None:
    seed.store(engine, late())
    with logged_in(database_url, Login.USER) as user, user.begin() as conn:
        trigger(conn, TriggerRequest("etl"), NOW, "user:ann")
    with logged_in(database_url, Login.SCHEDULER) as own:
        replica = Replica(own, seed.register(own), read(SchedulerSettings))
        assert start(replica) == (0, 1)
        with entered(database_url, Login.PARSER, "parser") as (parser, me), parser.begin() as conn:
            [found] = pins.wanted(conn, "main")
            assert pins.pin(conn, found.run_ids, f"parser:{me.id}", "a broken file") == 1
        assert start(replica) == (1, 0)
