"""Running a run again with another version of its DAG: what it was, what is in force, any other."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.actions.change import Author, RunChange, Versions
from headway.actions.runs.clear import clear_tasks
from headway.actions.sentences import told
from headway.db.access.logins import Login
from headway.db.changes import repins
from headway.db.execution import attempts
from headway.db.scheduling import tasks, wakes
from headway.decide.changes.clear import Selection
from headway.decide.changes.provider_changes import ProviderChange
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec, MapInput
from headway.domain.errors import NotFoundError
from headway.domain.states import Outcome, RunState, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.interleaving import just_before, waiting, waiting_before
from headway.testing.database.logins import logged_in
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY
RUN = f"scheduled__{seed.START.isoformat()}"
ANN = Author("user:ann")
NONE, REMOVED = TaskState.NONE, TaskState.REMOVED
FAILED_ONES = Selection(only_failed=True)

OLD = seed.dag(seed.task("a"), seed.task("b", "a"), seed.task("z", "b"))
NEW = seed.dag(
    seed.task("a"),
    replace(seed.task("c", "a"), pool="db", pool_slots=2, queue="big", priority_weight=5),
    seed.task("z", "c"),
)
END = text("UPDATE dag_run SET state = :state, ended_at = now(), unfinished = 0")


@pytest.fixture
def user(database_url: str) -> Iterator[Engine]:
    with logged_in(database_url, Login.USER) as its:
        yield its


@pytest.fixture
def replica(engine: Engine, database_url: str) -> Iterator[Replica]:
    """A scheduler with the rights of one."""
    me = seed.register(engine)
    with logged_in(database_url, Login.SCHEDULER) as its:
        yield Replica(its, me, read(SchedulerSettings))


def clear(
    user: Engine, version: str, selection: Selection = FAILED_ONES, run_id: str = RUN
) -> RunChange:
    with user.begin() as conn:
        return clear_tasks(conn, "etl", run_id, selection, ANN, version)


def settle(replica: Replica) -> None:
    start_runs(replica, NOW)
    schedule_tasks(replica, NOW)


def one(engine: Engine, statement: str) -> Any:
    with engine.connect() as conn:
        return conn.execute(text(statement)).one()


def number(engine: Engine) -> int:
    """The number of the version that the run has."""
    found: int = one(
        engine,
        "SELECT number FROM dag_version JOIN dag_run ON version_id = dag_version.id",
    ).number
    return found


def ended(engine: Engine, spec: DagSpec, state: str = "failed", **states: str) -> int:
    """A run that has ended, with its tasks in these states."""
    run = running(engine, spec, **states)
    with engine.begin() as conn:
        conn.execute(END, {"state": state})
    return run


def running(engine: Engine, spec: DagSpec, **states: str) -> int:
    """A run that is running, settled, with its tasks in these states."""
    run = seed.start_run(engine, spec)
    force(engine, run, **states)
    with engine.begin() as conn:
        wakes.take(conn, [run])
    return run


def finish_all(engine: Engine, replica: Replica) -> list[str]:
    """Run whatever there is to run; return the tasks in the order in which they ran."""
    ran: list[str] = []
    for _ in range(10):
        settle(replica)
        states = seed.task_states(engine)
        ready = [task for task, state in states.items() if state == "scheduled"]
        if not ready:
            return ran
        ran += ready
        seed.finish(engine)
    raise AssertionError("it does not end")


def test_a_run_keeps_its_own_version_unless_it_is_asked_otherwise(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    ended(engine, OLD, a="success", b="failed", z="upstream_failed")
    seed.store(engine, NEW)

    change = clear(user, "own")

    assert change == RunChange(RunState.FAILED, RunState.QUEUED, {NONE: 2})
    assert change.versions == Versions(1, 1, 2)
    assert finish_all(engine, replica) == ["b", "z"]
    assert number(engine) == 1


def test_other_provider_packages_than_those_of_its_version_are_told(
    engine: Engine, user: Engine
) -> None:
    http = "apache-airflow-providers-http"
    ended(engine, replace(OLD, providers={http: "6.2.0", "gone": "1"}), b="failed")
    seed.store(engine, replace(NEW, providers={http: "6.3.0"}))

    own = clear(user, "own")
    latest = clear(user, "latest")

    assert own.versions == Versions(1, 1, 2, (ProviderChange(http, "6.2.0", "6.3.0"),))
    assert told(own).endswith(f"version 1 was made with {http} 6.2.0, and 6.3.0 is installed now")
    assert latest.versions == Versions(1, 2, 2)


def test_a_run_that_has_ended_runs_again_with_the_latest(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    ended(engine, OLD, a="success", b="failed", z="upstream_failed")
    seed.store(engine, NEW)

    change = clear(user, "latest")

    assert change == RunChange(RunState.FAILED, RunState.QUEUED, {NONE: 1, REMOVED: 1}, added=1)
    assert change.versions == Versions(1, 2, 2)
    settle(replica)
    assert seed.task_states(engine) == {
        "a": "success",
        "b": "removed",
        "z": "none",
        "c": "scheduled",
    }
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET queue = 'default'"))
    assert finish_all(engine, replica) == ["c", "z"]
    assert seed.run_states(engine) == {"success": 1}


def test_a_running_run_gets_the_tasks_that_it_lacks_at_once(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    running(engine, OLD, a="success", b="failed", z="upstream_failed")
    limited = replace(NEW, max_active_tasks_per_dagrun=3)
    seed.store(engine, limited)

    assert clear(user, "latest").run is RunState.RUNNING

    columns = "task_id, state, pool, pool_slots, queue, priority, limited, up_total"
    assert one(engine, f"SELECT {columns} FROM task_instance WHERE task_id = 'c'") == (
        ("c", "none", "db", 2, "big", 6, True, 1)
    )
    assert one(engine, "SELECT unfinished, pinned FROM dag_run") == (None, True)
    settle(replica)
    assert seed.task_states(engine)["c"] == "scheduled"
    assert one(engine, "SELECT unfinished FROM dag_run") == (2,)


def test_what_is_there_follows_the_new_version(engine: Engine, user: Engine) -> None:
    """But an attempt that runs keeps the slots that it has taken."""
    spec = seed.dag(seed.task("a"), seed.task("b", "a"))
    running(engine, spec, a="running", b="none")
    moved = [replace(task, pool="db", queue="big", priority_weight=9) for task in spec.tasks]
    seed.store(engine, seed.dag(*moved))

    clear(user, "latest")

    columns = "pool, queue, priority"
    assert one(engine, f"SELECT {columns} FROM task_instance WHERE task_id = 'b'") == (
        ("db", "big", 9)
    )
    assert one(engine, "SELECT phase, pool, queue FROM task_attempt") == (
        ("running", "default_pool", "default")
    )


def test_what_runs_goes_on_and_counts_and_its_next_attempt_has_the_new_version(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    run = seed.start_run(engine, OLD)
    key = force(engine, run, a="running")["a"]
    version = seed.store(engine, NEW)
    clear(user, "latest")

    again = Next(TaskState.UP_FOR_RETRY, timedelta(0))
    assert seed.report(engine, [key], Outcome.FAILED, again) == {key}
    schedule_retries(replica, datetime(2100, 1, 1, tzinfo=UTC))
    with engine.begin() as conn:
        ready = text("SELECT id FROM task_instance WHERE state = 'scheduled'")
        tasks.queue(conn, list(conn.scalars(ready)), NOW, seed.SCHEDULER)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))

    assert (claimed.task_id, claimed.version_id) == ("a", version)


def test_what_runs_of_a_task_that_goes_is_stopped_and_holds_the_run_until_it_has(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    run = seed.start_run(engine, OLD)
    key = force(engine, run, a="success", b="running")["b"]
    seed.store(engine, seed.dag(seed.task("a")))

    change = clear(user, "latest")

    assert (change.moved, change.stopping) == ({REMOVED: 1}, {NONE: 1})
    settle(replica)
    assert seed.task_states(engine) == {"a": "success", "b": "restarting", "z": "removed"}
    assert seed.run_states(engine) == {"running": 1}
    assert seed.report(engine, [key]) == {key}
    settle(replica)
    assert seed.task_states(engine) == {"a": "success", "b": "removed", "z": "removed"}
    assert seed.run_states(engine) == {"success": 1}


def test_what_was_queued_of_a_task_that_goes_is_never_claimed(engine: Engine, user: Engine) -> None:
    running(engine, OLD, a="success", b="queued")
    seed.store(engine, NEW)

    clear(user, "latest")

    assert seed.claim(engine, seed.register(engine, "worker")) == []
    assert one(engine, "SELECT phase, outcome FROM task_attempt WHERE outcome <> 'success'") == (
        ("ended", "cancelled")
    )


def test_a_removed_task_runs_again_with_the_version_that_has_it(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    """There and back: the run ends as it was at first."""
    ended(engine, OLD, a="success", b="failed", z="upstream_failed")
    seed.store(engine, NEW)
    clear(user, "latest")

    with pytest.raises(NotFoundError, match="Version 2 of DAG etl has no task 'b'; version 1 has"):
        clear(user, "own", Selection(["b"]))
    change = clear(user, "1", Selection(["b"]))

    assert (number(engine), change.versions) == (1, Versions(2, 1, 2))
    assert finish_all(engine, replica) == ["b", "z"]
    assert seed.task_states(engine) == {"a": "success", "b": "success", "z": "success"}


def test_a_run_that_waits_to_start_may_be_given_another_version(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    seed.create_runs(engine, seed.store(engine, OLD), [0])
    seed.store(engine, NEW)

    assert clear(user, "latest").run is RunState.QUEUED
    settle(replica)

    assert seed.task_states(engine).keys() == {"a", "c", "z"}


def test_a_run_that_is_not_pinned_yet_is_when_it_is_given_a_version(
    engine: Engine, user: Engine
) -> None:
    seed.create_runs(engine, seed.store(engine, OLD), [0])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET pinned = false"))

    clear(user, "latest")

    assert one(engine, "SELECT pinned FROM dag_run") == (True,)


def test_a_mapped_task_of_a_rerun_is_expanded_as_the_new_version_says(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    def over(length: int) -> DagSpec:
        inputs = (MapInput(argument="item", length=length),)
        return seed.dag(replace(seed.task("w"), mapped_over=inputs), seed.task("z", "w"))

    ended(engine, over(2), w="success failed", z="upstream_failed")
    seed.store(engine, over(4))

    assert clear(user, "latest").remade == 1
    settle(replica)

    with engine.connect() as conn:
        states = text("SELECT map_index, state FROM task_instance WHERE task_id = 'w' ORDER BY 1")
        assert conn.execute(states).all() == [(index, "scheduled") for index in range(4)]


def test_the_event_tells_both_versions(engine: Engine, user: Engine) -> None:
    ended(engine, OLD, a="success", b="failed", z="upstream_failed")
    seed.store(engine, NEW)

    clear(user, "latest")

    event = one(engine, "SELECT action, details FROM event")
    assert event.action == "run.clear"
    assert event.details["version"] == {"before": 1, "after": 2}
    assert event.details["before"]["tasks"] == {"b": {"failed": 1}, "z": {"upstream_failed": 1}}


@pytest.mark.parametrize("version", ["7", "x", "-1", "99999999999999999999", "²"])
def test_a_version_that_is_not_there_is_told_with_those_that_are(
    engine: Engine, user: Engine, version: str
) -> None:
    ended(engine, OLD, a="failed")
    seed.store(engine, NEW)

    with pytest.raises(NotFoundError, match="say own, latest, or one of 2, 1"):
        clear(user, version)


def test_a_version_of_another_dag_is_none(engine: Engine, user: Engine) -> None:
    ended(engine, OLD, a="failed")
    for _ in range(3):
        seed.store(engine, seed.dag(dag_id="other"))

    with pytest.raises(NotFoundError, match="one of 1\\."):
        clear(user, "3")


def test_a_worker_that_claims_at_that_moment_has_one_version_or_the_other(
    engine: Engine, user: Engine
) -> None:
    """The claim has the task: the re-pinning waits, finds it running, and lets it go on."""
    seed.queued(engine, seed.dag(seed.task("a")))
    old = one(engine, "SELECT version_id FROM dag_run").version_id
    seed.store(engine, seed.dag(replace(seed.task("a"), retries=5)))
    with waiting_before(engine, attempts.FACTS, lambda: clear(user, "latest")):
        [claimed] = seed.claim(engine, seed.register(engine, "worker"))

    assert claimed.version_id == old
    assert seed.task_states(engine) == {"a": "running"}
    assert seed.report(engine, [claimed.key]) == {claimed.key}


def test_a_scheduler_that_settles_the_run_at_that_moment_is_waited_for(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    """It has counted what is unfinished by the old version: that must not be believed any more."""
    run = seed.start_run(engine, OLD)
    key = force(engine, run, a="running")["a"]
    seed.store(engine, NEW)
    seed.report(engine, [key])

    with waiting(engine, lambda: clear(user, "latest")) as begin:
        schedule_tasks(replica, NOW, before_commit=begin)

    assert one(engine, "SELECT unfinished FROM dag_run") == (None,)
    settle(replica)
    assert seed.task_states(engine) == {
        "a": "success",
        "b": "removed",
        "z": "none",
        "c": "scheduled",
    }


def test_two_users_at_once_give_the_run_one_version_after_the_other(
    engine: Engine, user: Engine
) -> None:
    ended(engine, OLD, a="success", b="failed", z="upstream_failed")
    seed.store(engine, NEW)

    with (
        waiting(engine, lambda: clear(user, "1")) as begin,
        just_before(user, repins.REPIN, begin),
    ):
        assert clear(user, "latest").versions == Versions(1, 2, 2)

    versions = "SELECT json_agg(details -> 'version' ORDER BY id) FROM event"
    assert one(engine, versions) == ([{"before": 1, "after": 2}, {"before": 2, "after": 1}],)
    assert seed.task_states(engine) == {"a": "success", "b": "none", "z": "none"}


def test_a_user_may_add_tasks_undecided_and_in_no_other_state(engine: Engine, user: Engine) -> None:
    running(engine, OLD)
    insert = text("""
        INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, pool, pool_slots, queue,
                                   priority)
        SELECT id, dag_id, 'x', 'scheduled', 'default_pool', 1, 'default', 1 FROM dag_run
    """)

    refused = pytest.raises(DBAPIError, match="permission denied for table task_instance")
    with refused, user.begin() as conn:
        conn.execute(insert)


def test_a_dag_that_waits_for_its_past_goes_on_after_a_removal(
    engine: Engine, user: Engine, replica: Replica
) -> None:
    """The run before has lost the task that the next one waits for."""
    chained = seed.dag(seed.task("a"), replace(seed.task("b"), depends_on_past=True))
    version = seed.store(engine, chained)
    first, second = seed.create_runs(engine, version, [0, 1])
    settle(replica)
    force(engine, first, a="success", b="failed")
    settle(replica)
    assert seed.task_states(engine, second)["b"] == "none"
    seed.store(engine, seed.dag(seed.task("a")))

    clear(user, "latest")
    for _ in range(3):
        settle(replica)

    assert seed.task_states(engine, first) == {"a": "success", "b": "removed"}
    assert seed.task_states(engine, second)["b"] == "scheduled"
