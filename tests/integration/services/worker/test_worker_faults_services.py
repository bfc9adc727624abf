"""What a task does to its worker: greed, spoiled channels, processes that will not go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.db.reads import process_views
from headway.testing.data.known import known
from headway.testing.processes.live_attempts import live_attempts
from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "faults"
LIMITS = {
    "HEADWAY_WORKER_MAX_ATTEMPT_MEMORY_BYTES": "400000000",
    "HEADWAY_WORKER_MAX_ATTEMPT_PROCESSES": "60",
    "HEADWAY_WORKER_MAX_ATTEMPT_OPEN_FILES": "256",
    # A machine that is busy with the bombs of this test is no reason to give an attempt away.
    "HEADWAY_WORKER_LEASE_DURATION": "60",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "60",
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("faults"), DAGS, LIMITS) as stack:
        yield stack


def worker_pid(stack: Stack) -> int:
    with stack.engine.connect() as conn:
        (pid,) = (row.pid for row in process_views.processes(conn, "worker"))
    return int(pid)


@pytest.fixture(scope="module")
def greedy(stack: Stack) -> StackRun:
    """All that is greedy at once, with a modest task beside it."""
    before = worker_pid(stack)
    run = stack.trigger("takes_all")
    canary = stack.run("canary")
    run.wait()
    assert canary.state == "success"
    assert worker_pid(stack) == before
    return run


@pytest.mark.parametrize(
    ("task_id", "excess"),
    [
        ("memory_of_a_grandchild", "400,000,000 bytes of memory"),
        ("processes", "60 processes and threads"),
        ("threads", "60 processes and threads"),
    ],
)
def test_an_attempt_that_takes_too_much_is_killed_and_told_of_what(
    greedy: StackRun, task_id: str, excess: str
) -> None:
    first = greedy.attempts(task_id)[0]

    assert first.outcome == "failed"
    assert first.error == (
        f"The task had more than {excess}, and was killed with all that it had started. "
        "The limits are HEADWAY_WORKER_MAX_ATTEMPT_*."
    )


def test_it_is_a_failure_of_the_task_which_is_tried_again(greedy: StackRun) -> None:
    assert greedy.xcom("memory_of_a_grandchild") == "modest"
    task = greedy.tasks()["memory_of_a_grandchild"]
    assert (task.attempt, task.failures, task.losses) == (2, 1, 0)


def test_files_run_out_for_the_task_alone(greedy: StackRun) -> None:
    assert greedy.attempt("files").error == "OSError: [Errno 24] Too many open files"


def test_when_memory_is_short_attempts_go_first(stack: Stack, greedy: StackRun) -> None:
    assert greedy.xcom("own_score") == "1000"
    assert Path(f"/proc/{worker_pid(stack)}/oom_score_adj").read_text().strip() != "1000"


@pytest.fixture(scope="module")
def spoils(stack: Stack) -> StackRun:
    return stack.run("spoils")


@pytest.mark.parametrize("task_id", ["writes_everywhere", "announces_too_much"])
def test_a_task_that_spoils_its_channel_is_stopped(spoils: StackRun, task_id: str) -> None:
    attempt = spoils.attempt(task_id)

    assert attempt.outcome == "failed"
    assert known(attempt.error).startswith("The task has spoiled its channel (")
    assert known(attempt.error) in spoils.log(task_id)


def test_a_task_that_closes_its_channel_is_stopped(spoils: StackRun) -> None:
    attempt = spoils.attempt("closes_everything")

    assert (attempt.outcome, attempt.error) == (
        "failed",
        "The task has closed its channel to the worker, and was stopped.",
    )


def test_a_task_may_do_without_its_output(spoils: StackRun) -> None:
    assert spoils.xcom("closes_its_output") == "well"


@pytest.fixture(scope="module")
def stays(stack: Stack) -> StackRun:
    return stack.run("will_not_go")


def test_any_exit_without_a_result_is_a_failure(stays: StackRun) -> None:
    attempt = stays.attempt("exits_with_120")

    assert attempt.outcome == "failed"
    assert "ended with exit code 120 before the task was done" in known(attempt.error)


@pytest.mark.parametrize("task_id", ["leaves_a_daemon_thread", "leaves_a_thread"])
def test_a_thread_that_goes_on_holds_nothing_up(stays: StackRun, task_id: str) -> None:
    assert (stays.states()[task_id], stays.xcom(task_id)) == ("success", "done")


def test_blocked_signals_and_sessions_are_no_way_out(stack: Stack, stays: StackRun) -> None:
    assert stays.attempt("blocks_all_signals").outcome == "timed_out"
    assert live_attempts(stack.home / "scratch") == set()
