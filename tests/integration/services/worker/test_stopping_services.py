"""Running tasks that are told to stop, from the command to the end of the last process."""

from pathlib import Path

import pytest

from headway.testing.data.known import known
from headway.testing.processes import task_processes
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services


def start(stack: Stack, dag_id: str, folder: Path) -> StackRun:
    """Start a run, and return it when its task has noted its process."""
    run = stack.trigger(dag_id, {"folder": str(folder)})
    noted = folder / "self"
    stack.until(lambda _: (noted.exists() and noted.read_text()) or None, f"the task of {dag_id}")
    return run


def command(run: StackRun, *arguments: str) -> None:
    what, verb, *rest = arguments
    done = run.stack.headway(what, verb, run.dag_id, run.run_id, *rest, "--yes")
    assert done.returncode == 0, done.stderr


def living(folder: Path) -> set[str]:
    """The noted processes that still exist."""
    return {note.name for note in folder.iterdir() if task_processes.find(note.read_text())}


def test_a_running_task_that_is_cleared_stops_and_runs_again(stack: Stack, tmp_path: Path) -> None:
    run = start(stack, "stops", tmp_path)
    assert living(tmp_path) == {"self", "grandchild"}

    command(run, "tasks", "clear", "waits")
    run.wait()

    first, second = run.attempts("waits")
    assert (first.outcome, second.outcome) == ("cancelled", "success")
    assert known(first.ended_at) <= second.queued_at
    assert living(tmp_path) == set()
    assert "told to stop" in run.log("waits", 1)
    task = run.tasks()["waits"]
    assert (task.state, task.attempt, task.failures, task.losses) == (
        "success",
        2,
        0,
        0,
    )
    assert (run.state, run.states()["after"]) == ("success", "success")


@pytest.mark.parametrize(
    ("state", "below"), [("success", "success"), ("failed", "upstream_failed")]
)
def test_a_running_task_that_is_marked_stops_and_is_what_was_said(
    stack: Stack, tmp_path: Path, state: str, below: str
) -> None:
    run = start(stack, "stops", tmp_path)

    command(run, "tasks", "mark", "waits", "--as", state)
    run.wait()

    assert run.attempt("waits").outcome == "cancelled"
    assert run.states() == {"waits": state, "after": below}
    assert (run.state, living(tmp_path)) == (state, set())


def test_a_run_that_is_cancelled_ends_when_its_last_process_has(
    stack: Stack, tmp_path: Path
) -> None:
    run = start(stack, "stops", tmp_path)

    command(run, "runs", "cancel")
    run.wait()

    assert living(tmp_path) == set()
    assert (run.state, run.states()["after"]) == ("failed", "skipped")
    assert run.attempt("waits").outcome == "cancelled"
    assert known(run.row.ended_at) >= known(run.attempt("waits").ended_at)


def test_one_that_ignores_it_is_killed(stack: Stack, tmp_path: Path) -> None:
    run = start(stack, "ignores_it", tmp_path)

    command(run, "tasks", "cancel", "ignores")
    run.wait()

    assert run.attempt("ignores").outcome == "cancelled"
    assert (run.states(), living(tmp_path)) == ({"ignores": "failed"}, set())


def test_one_may_clean_up_before_it_ends(stack: Stack, tmp_path: Path) -> None:
    run = start(stack, "cleans_up", tmp_path)

    command(run, "tasks", "cancel", "tidies")
    run.wait()

    assert run.attempt("tidies").outcome == "cancelled"
    assert run.states() == {"tidies": "failed"}
    assert "All is tidy." in run.log("tidies")


def test_the_attempt_is_what_it_was_and_the_task_what_the_user_said(
    stack: Stack, tmp_path: Path
) -> None:
    """It was done before it stopped."""
    run = start(stack, "finishes_first", tmp_path)

    command(run, "tasks", "mark", "finishes", "--as", "skipped")
    run.wait()

    assert run.attempt("finishes").outcome == "success"
    assert run.states() == {"finishes": "skipped"}


def test_an_operator_is_told_and_ends_by_the_signal(stack: Stack, tmp_path: Path) -> None:
    run = start(stack, "has_a_job_elsewhere", tmp_path)

    command(run, "tasks", "cancel", "remote")
    run.wait()

    assert (tmp_path / "cancelled").read_text() == (tmp_path / "self").read_text()
    assert run.attempt("remote").outcome == "cancelled"
    assert living(tmp_path) == set()


def test_one_that_takes_too_long_has_timed_out_whatever_its_operator_does_about_it(
    stack: Stack, tmp_path: Path
) -> None:
    run = stack.run("has_a_job_that_takes_too_long", {"folder": str(tmp_path)})

    assert (tmp_path / "cancelled").read_text() == (tmp_path / "self").read_text()
    assert run.attempt("remote").outcome == "timed_out"
    assert "RuntimeError: it does not answer" in run.log("remote")
    assert living(tmp_path) == set()
