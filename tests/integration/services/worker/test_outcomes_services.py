"""How attempts end, and what follows: retries, skips, timeouts, exits, crashes, floods."""

from itertools import pairwise
from pathlib import Path

import pytest

from headway.domain.states import Outcome
from headway.runtime.forker import Exit
from headway.runtime.processes.oom import oom_kills
from headway.testing.data.known import known
from headway.testing.processes import task_processes
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun
from headway_worker.supervision.outcome import explain

pytestmark = pytest.mark.services

LOG_LIMIT = 10 * 2**20


def outcomes(run: StackRun, task_id: str) -> list[Outcome | None]:
    return [row.outcome for row in run.attempts(task_id)]


def pauses(run: StackRun, task_id: str) -> list[float]:
    """The seconds between the end of an attempt and the queuing of the next one."""
    attempts = run.attempts(task_id)
    return [
        (later.queued_at - known(earlier.ended_at)).total_seconds()
        for earlier, later in pairwise(attempts)
    ]


def living(folder: Path) -> set[str]:
    """The noted processes that still exist."""
    return {note.name for note in folder.iterdir() if task_processes.find(note.read_text())}


@pytest.fixture(scope="module")
def recovers(stack: Stack) -> StackRun:
    return stack.run("recovers")


def test_a_failed_attempt_is_tried_again(recovers: StackRun) -> None:
    task = recovers.tasks()["flaky"]
    assert outcomes(recovers, "flaky") == ["failed", "failed", "success"]
    assert (task.state, task.attempt, task.failures, task.losses) == (
        "success",
        3,
        2,
        0,
    )
    assert [row.error for row in recovers.attempts("flaky")] == [
        "RuntimeError: attempt 1 had no luck",
        "RuntimeError: attempt 2 had no luck",
        None,
    ]
    assert min(pauses(recovers, "flaky")) >= 0.4
    assert (recovers.state, recovers.xcom("flaky")) == ("success", 3)
    assert recovers.states()["after"] == "success"


def test_each_attempt_has_a_log_that_shows_the_user_s_lines_only(recovers: StackRun) -> None:
    assert "attempt 2 had no luck" in recovers.log("flaky", 2)
    assert ", in flaky" in recovers.log("flaky", 2)
    assert "headway/sdk" not in recovers.log("flaky", 2)
    assert "Traceback" not in recovers.log("flaky", 3)


def test_a_task_without_retries_left_fails(stack: Stack) -> None:
    run = stack.run("gives_up")

    assert outcomes(run, "hopeless") == ["failed", "failed"]
    assert run.tasks()["hopeless"].failures == 2
    assert run.states() == {"hopeless": "failed", "after": "upstream_failed"}
    assert run.state == "failed"


def test_the_delay_doubles_up_to_a_limit(stack: Stack) -> None:
    first, second, third = pauses(stack.run("backs_off"), "doubling")

    assert first >= 0.2
    assert second >= 0.4
    assert third >= 0.5


@pytest.mark.parametrize(
    ("task_id", "outcome", "error"),
    [
        ("skips", "skipped", "nothing to do today"),
        ("fails_for_good", "failed", "the source is gone"),
        ("skips_by_code", "skipped", "The command exited with 99, which skips the task."),
        ("fails_by_code", "failed", "The command exited with 3; its output is in the log."),
    ],
)
def test_a_task_says_how_it_ended(says: StackRun, task_id: str, outcome: str, error: str) -> None:
    attempt = says.attempt(task_id)

    assert (attempt.outcome, attempt.error) == (outcome, error)
    assert says.states()[task_id] == outcome


@pytest.fixture(scope="module")
def says(stack: Stack) -> StackRun:
    return stack.run("says_how_it_ended")


def test_what_lies_behind_a_skipped_task_is_skipped(says: StackRun) -> None:
    assert says.states()["after_skip"] == "skipped"


def test_values_of_a_failed_attempt_are_not_seen(stack: Stack) -> None:
    run = stack.run("values_of_attempts")

    assert (run.state, run.xcom("looks")) == ("success", "nothing")


@pytest.fixture(scope="module")
def leaves(stack: Stack) -> StackRun:
    return stack.run("leaves")


@pytest.mark.parametrize(
    ("task_id", "error"),
    [
        ("exits_with_0", "The task called sys.exit(0); return from the function instead."),
        ("exits_with_1", "The task called sys.exit(1); return from the function instead."),
        (
            "leaves_at_once",
            (
                "The task's process ended with exit code 0 before the task was done; return from "
                "the function instead of leaving the process."
            ),
        ),
        ("crashes", "The task's process was killed by SIGSEGV."),
        ("kills_itself", explain(Exit(signal=9, oom_kills=None if oom_kills() is None else 0))),
    ],
)
def test_a_task_that_leaves_its_process_fails(leaves: StackRun, task_id: str, error: str) -> None:
    attempt = leaves.attempt(task_id)

    assert (attempt.outcome, attempt.error) == ("failed", error)
    assert f"[headway] failed: {error}" in leaves.log(task_id)


def test_a_task_may_close_its_output(leaves: StackRun) -> None:
    assert leaves.xcom("leaves_with_a_result") == "well"


def test_a_task_that_runs_too_long_is_stopped_with_all_its_processes(
    stack: Stack, tmp_path: Path
) -> None:
    run = stack.run("runs_too_long", {"folder": str(tmp_path)})

    attempt = run.attempt("sleeps")
    assert (run.state, attempt.outcome) == ("failed", "timed_out")
    assert attempt.error == (
        "The task ran longer than its execution_timeout of 1 s, and was stopped."
    )
    assert {note.name for note in tmp_path.iterdir()} == {"self", "child", "grandchild"}
    assert living(tmp_path) == set()


def test_a_task_that_ignores_sigterm_is_killed(stack: Stack, tmp_path: Path) -> None:
    run = stack.run("ignores_sigterm", {"folder": str(tmp_path)})

    attempt = run.attempt("stays")
    assert attempt.outcome == "timed_out"
    assert (known(attempt.ended_at) - known(attempt.started_at)).total_seconds() >= 2
    assert living(tmp_path) == set()


def test_a_task_that_timed_out_is_tried_again(stack: Stack) -> None:
    run = stack.run("is_retried_after_a_timeout")

    assert outcomes(run, "slow_at_first") == ["timed_out", "success"]
    assert run.tasks()["slow_at_first"].failures == 1


def test_nothing_that_a_task_has_started_outlives_it(stack: Stack, tmp_path: Path) -> None:
    run = stack.run("leaves_a_grandchild", {"folder": str(tmp_path)})

    assert (run.state, run.xcom("daemonizes")) == ("success", "done")
    assert {note.name for note in tmp_path.iterdir()} == {"self", "grandchild"}
    assert living(tmp_path) == set()


def test_a_file_that_makes_other_tasks_on_a_worker_is_told_so(stack: Stack) -> None:
    attempt = stack.run("makes_other_tasks").attempt("in_the_parser")

    assert attempt.outcome == "failed"
    assert attempt.error == (
        "The code of this version, read again, makes no task 'in_the_parser' in a DAG "
        "'makes_other_tasks'. Let the DAG file make the same tasks each time that it is read."
    )


def test_a_file_that_a_worker_cannot_read_shows_the_user_s_lines_only(stack: Stack) -> None:
    run = stack.run("breaks_on_the_worker")

    assert run.attempt("never_found").error == (
        "The DAG file cannot be imported on this worker: RuntimeError: this machine lacks something"
    )
    frames = [line for line in run.log("never_found").splitlines() if ", line " in line]
    assert [frame.rpartition("/")[2] for frame in frames] == [
        'reading_fails.py", line 11, in <module>'
    ]


@pytest.fixture(scope="module")
def prints(stack: Stack) -> StackRun:
    return stack.run("prints")


def test_a_flood_of_output_is_cut_off(prints: StackRun) -> None:
    lines = prints.log_lines("a_flood")
    printed = [line.message for line in lines if line.source == "stdout"]

    assert prints.xcom("a_flood") == "dry"
    assert sum(map(len, printed)) < LOG_LIMIT
    assert printed[-1].endswith("x line 51199"), "the end is kept"
    left_out = [line.message for line in lines if " lines of " in line.message]
    assert sum(int(line.split()[0].replace(",", "")) for line in left_out) == 51200 - len(printed)
    assert lines[-1].outcome == "success"


def test_output_may_be_any_bytes(prints: StackRun) -> None:
    log = "\n".join(line.message for line in prints.log_lines("bytes_of_all_kinds"))

    assert prints.xcom("bytes_of_all_kinds") == "fine"
    assert "\x00\x01\x02" in log
    assert "ABCDEF" in log
    assert "\\xfd\\xfe\\xff" in log
    assert "\\udcff lone surrogate" in log


def test_a_line_without_end_is_broken(prints: StackRun) -> None:
    lines = [line for line in prints.log("one_endless_line").splitlines() if "yyy" in line]

    assert prints.xcom("one_endless_line") == "broken"
    assert max(map(len, lines)) < 17_000
    assert sum(line.count("y") for line in lines) == 100_000
