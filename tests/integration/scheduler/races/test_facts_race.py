"""What workers report while a run is being settled is neither lost nor counted twice."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import Engine, TextClause, text

from headway.db.core import engine as engines
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.db.scheduling import queued_runs, run_snapshots, runs, tasks, wakes
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.database.interleaving import at_statement, just_before
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica
from headway_scheduler.replica.specs import Specs

JOIN = replace(seed.task("join", "a", "b", "c"), trigger_rule=TriggerRule.ALL_DONE)
SPEC = seed.dag(seed.task("a"), seed.task("b"), seed.task("c"), JOIN, seed.task("last", "join"))

COUNTING = [run_snapshots.LOCK_WOKEN, wakes.TAKE, run_snapshots.BELOW, tasks.COUNT, runs.SETTLE]
WHOLE = [run_snapshots.LOCK_WOKEN, wakes.TAKE, run_snapshots.WHOLE, tasks.COUNT, runs.SETTLE]


def settle(replica: Replica) -> int:
    return schedule_tasks(replica, seed.START).runs


def start(engine: Engine, spec: DagSpec = SPEC) -> list[AttemptKey]:
    """Start a run and have its first three tasks claimed."""
    seed.start_run(engine, spec)
    return claim_ready(engine, seed.register(engine, "worker"))


def claim_ready(engine: Engine, worker: Identity) -> list[AttemptKey]:
    ready = text("SELECT id FROM task_instance WHERE state = 'scheduled'")
    with engine.begin() as conn:
        tasks.queue(conn, list(conn.scalars(ready)), seed.START, seed.SCHEDULER)
    return [claimed.key for claimed in seed.claim(engine, worker)]


def counts(engine: Engine, run: int) -> tuple[int, int, int | None]:
    """Return what is stored: upstream of `join` that succeeded and failed, and what is left."""
    stored = text("""
        SELECT up_success, up_failed, unfinished
          FROM task_instance AS task JOIN dag_run AS run ON run.id = dag_run_id
         WHERE task_id = 'join' AND run.id = :run
    """)
    with engine.connect() as conn:
        row = conn.execute(stored, {"run": run}).one()
    return row.up_success, row.up_failed, row.unfinished


def go_on_to_the_end(engine: Engine, replica: Replica, last: AttemptKey, run: int = 1) -> None:
    """Report the last of the three, and let the run come to its end."""
    assert counts(engine, run) == (2, 0, 3)
    assert seed.task_states(engine, run)["join"] == "none"
    seed.report(engine, [last])
    while settle(replica):
        pass
    assert seed.task_states(engine, run)["join"] == "scheduled"
    for _ in ("join", "last"):
        seed.finish(engine)
        while settle(replica):
            pass
    assert set(seed.run_states(engine)) == {"success"}


@pytest.mark.parametrize("statement", COUNTING, ids=["lock", "take", "below", "count", "settle"])
def test_a_report_while_facts_are_counted(
    engine: Engine, replica: Replica, statement: TextClause
) -> None:
    a, b, c = start(engine)
    seed.report(engine, [a])

    with just_before(engine, statement, lambda: seed.report(engine, [b])):
        settle(replica)
    while settle(replica):
        pass

    go_on_to_the_end(engine, replica, c)


@pytest.mark.parametrize("statement", WHOLE, ids=["lock", "take", "whole", "count", "settle"])
def test_a_report_while_the_run_is_looked_at_as_a_whole(
    engine: Engine, replica: Replica, statement: TextClause
) -> None:
    a, b, c = start(engine)
    seed.report(engine, [a])
    with engine.begin() as conn:
        wakes.add(conn, list(conn.scalars(text("SELECT id FROM dag_run"))))

    with just_before(engine, statement, lambda: seed.report(engine, [b])):
        settle(replica)
    while settle(replica):
        pass

    go_on_to_the_end(engine, replica, c)


@pytest.mark.parametrize(
    "statement", [run_snapshots.BELOW, run_snapshots.WHOLE], ids=["below", "whole"]
)
def test_a_report_between_counting_and_the_whole_look_that_it_leads_to(
    engine: Engine, replica: Replica, statement: TextClause
) -> None:
    """The first fact decides that `last` never runs: that takes a whole look."""
    spec = replace(SPEC, tasks=(*SPEC.tasks[:3], seed.task("join", "a", "b", "c"), SPEC.tasks[4]))
    a, b, c = start(engine, spec)
    seed.report(engine, [a], Outcome.FAILED, Next(TaskState.FAILED))

    with just_before(engine, statement, lambda: seed.report(engine, [b])):
        settle(replica)
    while settle(replica):
        pass

    assert seed.task_states(engine)["last"] == "upstream_failed"
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT unfinished FROM dag_run")) == 1
    seed.report(engine, [c])
    settle(replica)
    assert seed.run_states(engine) == {"failed": 1}


@pytest.fixture
def beside(database_url: str) -> Iterator[Engine]:
    """Connections of somebody else to the same database."""
    engine = engines.connect(database_url, name="test")
    yield engine
    engine.dispose()


@pytest.mark.parametrize("whole", [False, True], ids=["counted", "whole"])
@pytest.mark.parametrize("settles", [False, True], ids=["report", "settle"])
def test_whatever_happens_between_any_two_statements(
    engine: Engine, beside: Engine, replica: Replica, whole: bool, settles: bool
) -> None:
    """A worker reports, or another scheduler settles, at each boundary of the pass in turn."""
    version, worker = seed.store(engine, SPEC), seed.register(engine, "worker")
    other = replace(replica, engine=beside, me=seed.register(engine), specs=Specs())
    for number in range(1, 30):
        [run] = seed.create_runs(engine, version, [number])
        with engine.begin() as conn:
            queued_runs.start(conn, [run], seed.START, seed.AGING)
        a, b, c = claim_ready(engine, worker)
        seed.report(engine, [a])
        if settles:
            seed.report(engine, [b])
        if whole:
            with engine.begin() as conn:
                wakes.add(conn, [run])

        action = partial(settle, other) if settles else partial(seed.report, beside, [b])
        with at_statement(engine, number, action) as happened:
            settle(replica)
        if not happened:
            break
        while settle(replica):
            pass
        go_on_to_the_end(engine, replica, c, run)
    assert number >= 7, "there are six statements, the last of them writes the run"


def test_a_report_that_commits_later_is_settled_later(engine: Engine, replica: Replica) -> None:
    a, b, c = start(engine)
    seed.report(engine, [a])

    with engine.begin() as worker:
        attempts.report(worker, [Report(key=b, outcome=Outcome.SUCCESS, following=seed.SUCCESS)])
        assert settle(replica) == 1
        assert counts(engine, 1) == (1, 0, 4)
    assert settle(replica) == 1

    go_on_to_the_end(engine, replica, c)


def test_many_instances_that_end_at_once_are_counted_each(engine: Engine, replica: Replica) -> None:
    a, b, c = start(engine)
    seed.report(engine, [a, b])
    seed.report(engine, [c], Outcome.FAILED, Next(TaskState.FAILED))

    assert settle(replica) == 1

    assert counts(engine, 1)[2] == 2
    assert seed.task_states(engine)["join"] == "scheduled"
