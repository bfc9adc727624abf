"""Why a task of a running run is not scheduled, or never will be: what it waits for, by name."""

from dataclasses import replace
from datetime import datetime

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.dags.pause import set_paused
from headway.actions.explain.explain import ExplainRequest, explain
from headway.actions.installation.pools import set_pool
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.changes import run_end
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.execution import attempts, xcoms
from headway.db.execution.attempts import Report
from headway.db.scheduling import queued_runs, scope
from headway.decide.changes.clear import Selection
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_POOL, DagSpec, MapInput, TaskSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import Outcome, RunState, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

RUN = "scheduled__2024-01-01T00:00:00+00:00"
NEXT_RUN = "scheduled__2024-01-02T00:00:00+00:00"
NOW = seed.START + 30 * seed.DAY
FAILED = Next(TaskState.FAILED)


@pytest.fixture
def replica(engine: Engine) -> Replica:
    seed.register(engine, "worker")
    return Replica(engine, seed.register(engine), read(SchedulerSettings))


def ask(engine: Engine, task_id: str, run: str = RUN, map_index: int | None = None) -> Explanation:
    wanted = ExplainRequest("etl", run, task_id, map_index)
    with engine.begin() as conn:
        return explain(conn, wanted, read(SchedulerSettings), NOW)


def start(engine: Engine, replica: Replica, spec: DagSpec, days: int = 1) -> None:
    seed.create_runs(engine, seed.store(engine, spec), range(days))
    start_runs(replica, NOW)
    schedule_tasks(replica, NOW)


def go_on(replica: Replica, now: datetime = NOW) -> None:
    """Settle all that has changed."""
    while schedule_tasks(replica, now).runs:
        pass


def with_rule(task: TaskSpec, rule: TriggerRule) -> TaskSpec:
    return replace(task, trigger_rule=rule)


def state_of(engine: Engine, task_id: str, run: str = RUN) -> str:
    query = text("""
        SELECT task.state FROM task_instance AS task JOIN dag_run AS run ON run.id = dag_run_id
         WHERE task_id = :task_id AND run_id = :run
    """)
    with engine.connect() as conn:
        return str(conn.scalar(query, {"task_id": task_id, "run": run}))


def test_a_task_whose_upstream_is_running(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    queue_tasks(replica, DEFAULT_POOL, NOW)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))

    found = ask(engine, "load")

    assert found.reason is Reason.UPSTREAM
    assert found.sentence == "It waits for extract (running)."
    assert found.change == "The end of it."
    assert [(holder.task_id, holder.state) for holder in found.held_by] == [("extract", "running")]
    assert found.facts == ()
    assert found.because is not None
    assert found.because.reason is Reason.RUNNING
    assert found.because.subject == ("etl", RUN, "extract", -1, "running")

    seed.report(engine, [claimed.key])
    go_on(replica)
    assert state_of(engine, "load") == "scheduled"


def test_what_holds_it_in_the_end_is_followed_to_its_root(engine: Engine, replica: Replica) -> None:
    """Of what is above, not the running task is explained but the one that is held itself."""
    root = replace(seed.task("root"), pool="shut")
    spec = seed.dag(
        root,
        seed.task("other"),
        seed.task("middle", "other", "root"),
        seed.task("below", "middle"),
        seed.task("last", "below"),
    )
    with engine.begin() as conn:
        set_pool(conn, "shut", 0, "", "user:test")
    start(engine, replica, spec)
    queue_tasks(replica, DEFAULT_POOL, NOW)
    seed.claim(engine, seed.register(engine, "worker"))

    found = ask(engine, "last")

    assert found.reason is Reason.UPSTREAM
    assert found.sentence == "It waits for below (undecided)."
    assert found.because is not None
    assert found.because.subject == ("etl", RUN, "root", -1, "scheduled")
    assert found.because.reason is Reason.POOL_TOO_SMALL
    assert found.because.because is None


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (TriggerRule.ALL_DONE, "The end of all of these."),
        (TriggerRule.ONE_SUCCESS, "The success of one of them."),
        (TriggerRule.ONE_FAILED, "The failure of one of them."),
        (TriggerRule.ONE_DONE, "The end of one of them, as success or failed."),
    ],
)
def test_a_task_with_a_rule_of_its_own(
    engine: Engine, replica: Replica, rule: TriggerRule, change: str
) -> None:
    last = with_rule(seed.task("last", "a", "b"), rule)
    start(engine, replica, seed.dag(seed.task("a"), seed.task("b"), last))

    found = ask(engine, "last")

    assert found.reason is Reason.UPSTREAM
    assert (
        found.sentence
        == f"It waits for a (scheduled) and b (scheduled), by its trigger rule {rule}."
    )
    assert found.change == change
    assert found.facts == ("0 of 2 upstream instances ended so far.",)
    assert state_of(engine, "last") == "none"


def test_a_task_that_is_decided_next(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    seed.finish(engine)

    found = ask(engine, "load")

    assert found.reason is Reason.DECIDED_NEXT
    assert found.sentence == "Nothing holds it: it is scheduled in the next pass of a scheduler."
    go_on(replica)
    assert state_of(engine, "load") == "scheduled"


def test_a_task_that_nobody_is_there_to_decide(engine: Engine) -> None:
    seed.start_run(engine, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    seed.finish(engine)

    assert ask(engine, "load").reason is Reason.NO_SCHEDULER


def test_a_task_of_a_run_whose_job_has_died(engine: Engine, replica: Replica) -> None:
    run = seed.start_run(engine, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    with engine.begin() as conn:
        scope.lock(conn, [run], 4711)
    seed.finish(engine)

    found = ask(engine, "load")

    assert found.reason is Reason.RUN_RESERVED
    assert found.sentence == "The run is reserved for process 4711, which has ended."
    go_on(replica)
    assert state_of(engine, "load") == "none"


def test_a_paused_dag_decides_its_tasks_all_the_same(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    seed.finish(engine)
    with engine.begin() as conn:
        set_paused(conn, "etl", "user:test", paused=True)

    assert ask(engine, "load").reason is Reason.DECIDED_NEXT
    go_on(replica)
    assert ask(engine, "load").reason is Reason.DAG_PAUSED


def test_a_trigger_rule_that_cannot_hold_any_more(engine: Engine, replica: Replica) -> None:
    """Before the scheduler has said so, and after."""
    spec = seed.dag(seed.task("a"), seed.task("b"), seed.task("load", "a", "b"))
    start(engine, replica, spec)
    seed.finish(engine, Outcome.FAILED, FAILED)

    found = ask(engine, "load")

    assert found.reason is Reason.TRIGGER_RULE
    assert found.sentence == (
        "Its trigger rule all_success cannot hold any more: it stands below a (failed) and "
        "b (failed). It becomes upstream_failed in a scheduler's next pass."
    )
    go_on(replica)

    found = ask(engine, "load")

    assert found.reason is Reason.TRIGGER_RULE
    assert found.subject is not None
    assert found.subject.state == "upstream_failed"
    assert found.sentence == (
        "Its trigger rule all_success did not hold: it stands below a (failed) and b (failed)."
    )
    assert found.change == (
        f"Clear what is above it, with all below: `headway tasks clear etl {RUN} a b --yes`."
    )
    assert [(holder.task_id, holder.state) for holder in found.held_by] == [
        ("a", "failed"),
        ("b", "failed"),
    ]
    assert found.facts[0].startswith("It has ended as upstream_failed at ")


def test_a_task_that_is_skipped_by_its_rule(engine: Engine, replica: Replica) -> None:
    last = with_rule(seed.task("last", "a"), TriggerRule.ALL_FAILED)
    start(engine, replica, seed.dag(seed.task("a"), last))
    seed.finish(engine)
    go_on(replica)

    found = ask(engine, "last")

    assert found.reason is Reason.TRIGGER_RULE
    assert found.sentence == (
        "Its trigger rule all_failed did not hold: it stands below a (success)."
    )


def test_a_task_that_another_chose_not_to_run(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("branch"), seed.task("left", "branch")))
    queue_tasks(replica, DEFAULT_POOL, NOW)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    report = Report(
        key=claimed.key, outcome=Outcome.SUCCESS, following=seed.SUCCESS, skips=["left"]
    )
    with engine.begin() as conn:
        attempts.report(conn, [report])

    found = ask(engine, "left")
    assert found.reason is Reason.NOT_CHOSEN
    assert found.sentence == (
        "branch above it chose not to run it. It becomes skipped in a scheduler's next pass."
    )

    go_on(replica)
    found = ask(engine, "left")
    assert found.reason is Reason.NOT_CHOSEN
    assert found.sentence == "branch above it chose not to run it."
    assert [holder.task_id for holder in found.held_by] == ["branch"]


def test_a_task_that_the_runs_date_leaves_out(engine: Engine, replica: Replica) -> None:
    late = replace(seed.task("late", "first"), start_date=seed.START + seed.DAY)
    start(engine, replica, seed.dag(seed.task("first"), late))

    found = ask(engine, "late")

    assert found.reason is Reason.OUTSIDE_DATES
    assert found.sentence == (
        "The logical date of the run lies outside the task's own dates "
        f"(start_date {seed.START + seed.DAY:%F %T})."
    )


def test_a_task_that_skipped_itself_is_not_explained_by_its_rule(
    engine: Engine, replica: Replica
) -> None:
    """Although that would skip it now, after a user has called success what had failed."""
    last = with_rule(seed.task("last", "a"), TriggerRule.ONE_FAILED)
    start(engine, replica, seed.dag(seed.task("a"), last))
    seed.finish(engine, Outcome.FAILED, FAILED)
    go_on(replica)
    seed.finish(engine, Outcome.SKIPPED, Next(TaskState.SKIPPED))
    with engine.begin() as conn:
        mark_tasks(conn, "etl", RUN, Marking(["a"], TaskState.SUCCESS), Author("user:ann"))

    found = ask(engine, "last")

    assert found.reason is Reason.ENDED
    assert found.subject == ("etl", RUN, "last", -1, "skipped")


def past(*tasks: TaskSpec) -> DagSpec:
    return seed.dag(*(replace(task, depends_on_past=True) for task in tasks))


def test_a_task_whose_past_has_not_ended(engine: Engine, replica: Replica) -> None:
    start(engine, replica, past(seed.task("work")), days=2)

    found = ask(engine, "work", NEXT_RUN)

    assert found.reason is Reason.DEPENDS_ON_PAST
    assert found.sentence == (
        f"It depends on its past: in the run before, {RUN}, work is scheduled."
    )
    assert found.change == "Its end there, as success or skipped."
    assert [(holder.run_id, holder.state) for holder in found.held_by] == [(RUN, "scheduled")]
    assert found.because is not None
    assert found.because.subject == ("etl", RUN, "work", -1, "scheduled")
    assert found.because.reason is Reason.ADMITTED_NEXT

    seed.finish(engine)
    go_on(replica)
    assert state_of(engine, "work", NEXT_RUN) == "scheduled"


def test_a_task_whose_past_has_failed(engine: Engine, replica: Replica) -> None:
    start(engine, replica, past(seed.task("work")), days=2)
    seed.finish(engine, Outcome.FAILED, FAILED)
    go_on(replica)

    found = ask(engine, "work", NEXT_RUN)

    assert found.reason is Reason.DEPENDS_ON_PAST
    assert found.sentence == f"It depends on its past: in the run before, {RUN}, work is failed."
    assert found.change == (
        f"`headway tasks clear etl {RUN} work --yes` to have it run there again, or "
        f"`headway tasks mark etl {RUN} work --as success --yes`."
    )
    assert state_of(engine, "work", NEXT_RUN) == "none"


def test_a_task_whose_past_has_not_started(engine: Engine, replica: Replica) -> None:
    version = seed.store(engine, replace(past(seed.task("work")), max_active_runs=1))
    _first, second = seed.create_runs(engine, version, [0, 1])
    with engine.begin() as conn:
        queued_runs.start(conn, [second], NOW, seed.AGING)
    go_on(replica)

    found = ask(engine, "work", NEXT_RUN)

    assert found.reason is Reason.DEPENDS_ON_PAST
    assert found.sentence == f"It depends on its past: the run before, {RUN}, has not started."
    assert found.because is not None
    assert found.because.reason is Reason.MAX_ACTIVE_RUNS


def mapped(upstream: str = "list") -> TaskSpec:
    return replace(
        seed.task("each", upstream), mapped_over=(MapInput(argument="item", task_id=upstream),)
    )


def leave(engine: Engine, replica: Replica, value: list[int]) -> None:
    """Have the first task run, and leave a list."""
    queue_tasks(replica, DEFAULT_POOL, NOW)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    with engine.begin() as conn:
        assert xcoms.push(conn, claimed.key, "return_value", list(value))
    seed.report(engine, [claimed.key])


def test_a_mapped_task_that_is_not_expanded(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("list"), mapped()))

    whole, instance = ask(engine, "each"), ask(engine, "each", map_index=1)

    assert whole.reason is Reason.UPSTREAM
    assert whole.facts[0] == (
        "It is mapped: it is expanded over item (the XCom 'return_value' of task 'list') when its "
        "upstream has ended."
    )
    assert instance.reason is Reason.NOT_EXPANDED
    assert instance.sentence == (
        "There is no each[1] yet: each is expanded into its instances when its upstream tasks "
        "have ended. It waits for list (scheduled)."
    )
    assert instance.because is not None
    assert instance.because.subject == ("etl", RUN, "list", -1, "scheduled")

    leave(engine, replica, [1, 2, 3])
    assert ask(engine, "each", map_index=1).sentence == (
        "Nothing holds it: it is expanded into 3 instances in the next pass of a scheduler."
    )
    go_on(replica)
    found = ask(engine, "each", map_index=1)
    assert found.reason is Reason.ADMITTED_NEXT
    assert found.subject == ("etl", RUN, "each", 1, "scheduled")
    assert found.facts == ("each has 3 instances (3 scheduled); this is about each[1].",)


@pytest.mark.parametrize("settled", [False, True])
def test_a_mapped_task_that_is_expanded_over_nothing(
    engine: Engine, replica: Replica, *, settled: bool
) -> None:
    start(engine, replica, seed.dag(seed.task("list"), mapped()))
    leave(engine, replica, [])
    if settled:
        go_on(replica)

    found = ask(engine, "each")

    assert found.reason is Reason.NOT_EXPANDED
    assert found.sentence.startswith(
        f"It {'was' if settled else 'is'} not expanded. What it is expanded over is empty."
    )


def test_a_mapped_task_that_cannot_be_expanded(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("list"), mapped()))
    seed.finish(engine)
    go_on(replica)
    assert state_of(engine, "each") == "upstream_failed"

    found = ask(engine, "each")

    assert found.reason is Reason.NOT_EXPANDED
    assert found.sentence == (
        "It was not expanded. Task 'list' has left no 'return_value' to expand it over."
    )


def test_a_run_that_is_to_end(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    with engine.begin() as conn:
        events.add(conn, Event(actor="user:test", action="run.cancel"))
        [run] = conn.scalars(text("SELECT id FROM dag_run"))
        run_end.end_as(conn, [run], RunState.FAILED)

    found = ask(engine, "load")

    assert found.reason is Reason.RUN_ENDS
    assert found.sentence == (
        "The run is to end as failed, and starts nothing more. It becomes skipped in a "
        "scheduler's next pass."
    )


def test_a_version_that_another_release_wrote(engine: Engine, replica: Replica) -> None:
    start(engine, replica, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    seed.finish(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_version SET serialized = 'nonsense'"))
    fresh = Replica(engine, replica.me, replica.settings)

    found = ask(engine, "load")

    assert found.reason is Reason.VERSION_UNREADABLE
    assert found.sentence == (
        "The run was created with version 1 of etl, which this release of Headway cannot read; "
        "nothing is decided for it but by a scheduler that can."
    )
    assert schedule_tasks(fresh, NOW).runs == 0
    assert state_of(engine, "load") == "none"


def test_a_task_that_the_version_of_the_run_lacks_is_removed(
    engine: Engine, replica: Replica
) -> None:
    """While it stops it is explained as what it is, and it is removed once it has."""
    start(engine, replica, seed.dag(seed.task("a"), seed.task("b")))
    key = force(engine, 1, a="success", b="running")["b"]
    seed.store(engine, seed.dag(seed.task("a")))
    with engine.begin() as conn:
        clear_tasks(conn, "etl", RUN, Selection(only_failed=True), Author("user:ann"), "latest")

    assert ask(engine, "b").reason is Reason.STOPPING
    seed.report(engine, [key])
    told = [ask(engine, "b")]
    go_on(replica)
    told.append(ask(engine, "b"))

    for explanation in told:
        assert "the run has version 2 of etl, which does not have this task" in explanation.sentence
    assert seed.task_states(engine)["b"] == "removed"
