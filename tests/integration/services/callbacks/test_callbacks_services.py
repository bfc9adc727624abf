"""Callbacks from the event to the journal: who is called, for what, and what comes of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.db.reads import callback_views, event_views, process_views
from headway.db.reads.callback_views import CallbackView
from headway.testing.processes import task_processes
from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "callbacks"
TIMEOUT = 20.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    given = {"HEADWAY_WORKER_CALLBACK_TIMEOUT": f"{TIMEOUT}", "HEADWAY_WORKER_SLOTS": "2"}
    with running_stack(tmp_path_factory.mktemp("callbacks"), DAGS, given) as stack:
        done = stack.headway("pools", "set", "none_free", "0")
        assert done.returncode == 0, done.stderr
        yield stack


def noted(folder: Path, name: str) -> list[dict[str, Any]]:
    """What the functions of that name were called for, in order."""
    file = folder / name
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def calls(run: StackRun) -> list[CallbackView]:
    """The callbacks of a run, when all of them have ended, the first one first."""

    def ended(_: object) -> list[CallbackView] | None:
        with run.stack.engine.connect() as conn:
            rows = callback_views.callbacks(conn, run.dag_id, run.run_id)
        return rows[::-1] if all(row.ended_at for row in rows) else None

    return run.stack.until(ended, f"the end of all callbacks of {run.dag_id}")


def brief(rows: list[CallbackView]) -> list[tuple[Any, ...]]:
    told = (
        (row.task_id, row.map_index, row.attempt, str(row.event), row.reason, str(row.state))
        for row in rows
    )
    return sorted(told, key=str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("noted")


@pytest.fixture(scope="module")
def called(stack: Stack, folder: Path) -> StackRun:
    return stack.run("calls", {"folder": str(folder)})


def test_each_event_is_one_callback(called: StackRun) -> None:
    assert brief(calls(called)) == [
        ("fails", -1, 1, "retry", "failed", "success"),
        ("fails", -1, 2, "retry", "failed", "success"),
        ("fails", -1, 3, "failure", "failed", "failed"),
        ("lands", -1, 1, "success", "success", "success"),
        ("mapped", 0, 1, "failure", "failed", "success"),
        ("mapped", 1, 1, "success", "success", "success"),
        ("skips", -1, 1, "skipped", "skipped", "success"),
        ("takes_too_long", -1, 1, "failure", "timed_out", "success"),
        (None, None, None, "failure", "task_failure", "success"),
    ]
    assert {row.tries for row in calls(called)} == {1}


def test_functions_are_told_what_has_happened(called: StackRun, folder: Path) -> None:
    calls(called)
    first, second = noted(folder, "retried")

    assert (
        first.items()
        >= {
            "task": "fails",
            "try_number": 1,
            "task_state": "up_for_retry",
            "run_state": "running",
            "run_id": called.run_id,
            "reason": "failed",
            "exception": "AirflowException('ValueError: no rows')",
            "left": called.xcom("lands"),
        }.items()
    )
    assert second["try_number"] == 2
    [timed_out] = [
        call for call in noted(folder, "task_failed") if call["task"] == "takes_too_long"
    ]
    assert timed_out["exception"].startswith("AirflowTaskTimeout('The task ran longer than its")
    assert [call["exception"] for call in noted(folder, "skipped")] == [
        "AirflowSkipException('nothing new')"
    ]
    assert {call["map_index"] for call in noted(folder, "ok")} == {-1, 1}


def test_the_functions_of_a_run_are_called_when_it_has_ended(
    called: StackRun, folder: Path
) -> None:
    calls(called)
    [failed], [too] = noted(folder, "run_failed"), noted(folder, "run_failed_too")

    assert (failed["run_state"], failed["reason"]) == ("failed", "task_failure")
    assert (failed["task"], failed["task_state"]) in {
        (name, "failed") for name in ("fails", "mapped", "takes_too_long")
    }
    assert failed["log_url"].startswith(f"http://localhost:8793/dags/calls/runs/{called.run_id}/")
    assert failed["took"] >= 0
    assert failed["process"] == too["process"]
    assert noted(folder, "run_ok") == []


def test_they_run_in_processes_of_their_own(called: StackRun, folder: Path) -> None:
    calls(called)
    its = [*noted(folder, "ok"), *noted(folder, "retried"), *noted(folder, "task_failed")]
    with called.stack.engine.connect() as conn:
        services = {row.pid for row in process_views.processes(conn)}

    assert len({call["process"] for call in its}) == len({call["key"] for call in its}) == len(its)
    assert not services & {task_processes.find(call["process"]) for call in its}
    assert called.xcom("lands") not in {call["process"] for call in its}


def test_one_that_fails_is_told_of_and_changes_nothing(called: StackRun, folder: Path) -> None:
    [row] = [row for row in calls(called) if row.state == "failed"]

    assert row.error == "complain: RuntimeError: nobody answers the phone"
    assert called.tasks()["fails"].state == "failed"
    assert [call["task"] for call in noted(folder, "told_after_complaint")] == ["fails"]
    done = called.stack.headway("callbacks", "logs", str(row.callback))
    assert "about to complain" in done.stdout
    assert ", in complain" in done.stdout
    assert "[headway] failed: complain: RuntimeError" in done.stdout


def test_what_comes_of_each_is_in_the_journal_and_in_the_list(called: StackRun) -> None:
    rows = calls(called)
    with called.stack.engine.connect() as conn:
        events = event_views.events(conn, called.dag_id, called.run_id)
    told = {row.details["callback"]: row for row in events if "callback" in row.action}

    assert {number: row.action for number, row in told.items()} == {
        row.callback: f"callback.{row.state}" for row in rows
    }
    listed = called.stack.headway("callbacks", "list", called.dag_id, "--output", "json")
    assert [row["callback"] for row in json.loads(listed.stdout)] == [
        row.callback for row in rows[::-1]
    ]


def test_what_is_called_before_a_task_is_called_in_its_process(
    called: StackRun, folder: Path
) -> None:
    assert (folder / "before").read_text() == f"running {called.xcom('lands')}"
    assert "nothing comes of this" in called.log("lands")


def test_a_run_that_goes_well_says_so(stack: Stack, tmp_path: Path) -> None:
    run = stack.run("goes_well", {"folder": str(tmp_path)})

    assert brief(calls(run)) == [(None, None, None, "success", "success", "success")]
    [ok] = noted(tmp_path, "run_ok")
    assert (ok["run_state"], ok["exception"]) == ("success", None)


@pytest.mark.long
def test_one_that_hangs_is_stopped_and_one_that_leaves_its_process_has_failed(
    stack: Stack, tmp_path: Path
) -> None:
    run = stack.run("hangs", {"folder": str(tmp_path)})
    errors = {row.task_id: (row.state, row.error) for row in calls(run)}

    assert errors == {
        "quick": (
            "failed",
            "It ran longer than the callback_timeout of 20 s, and was stopped.",
        ),
        "leaving": (
            "failed",
            (
                "The callback's process ended with exit code 7 before the callback was done; "
                "return from the function instead of leaving the process."
            ),
        ),
        None: ("success", None),
    }
    assert run.state == "success"
    [hung] = noted(tmp_path, "hung")
    assert task_processes.find(hung["process"]) is None


def test_a_run_that_takes_too_long_says_so_and_its_tasks_do_not(
    stack: Stack, tmp_path: Path
) -> None:
    run = stack.run("takes_its_time", {"folder": str(tmp_path)})

    assert run.states() == {"slow": "skipped"}
    assert brief(calls(run)) == [(None, None, None, "failure", "timed_out", "success")]
    assert [call["reason"] for call in noted(tmp_path, "run_failed")] == ["timed_out"]


def test_what_a_user_ends_calls_back_for_what_was_running(stack: Stack, tmp_path: Path) -> None:
    run = stack.trigger("waits", {"folder": str(tmp_path)})
    stack.until(lambda _: (tmp_path / "begun").exists() or None, "the slow task")

    for what in (["tasks", "mark", "--as", "failed", "not_begun"], ["runs", "cancel"]):
        noun, verb, *rest = what
        done = stack.headway(noun, verb, run.dag_id, run.run_id, *rest, "--yes")
        assert done.returncode == 0, done.stderr
    run.wait()

    assert run.states() == {"slow": "failed", "not_begun": "failed"}
    assert brief(calls(run)) == [("slow", -1, 1, "failure", "cancelled", "success")]
    [failed] = noted(tmp_path, "task_failed")
    assert failed["exception"].startswith("AirflowTaskTerminated('It was told to stop")


def test_a_run_that_is_cleared_calls_back_again(stack: Stack, tmp_path: Path) -> None:
    run = stack.run("goes_well", {"folder": str(tmp_path)})
    calls(run)

    done = stack.headway("runs", "clear", run.dag_id, run.run_id, "--yes")
    assert done.returncode == 0, done.stderr
    run.wait()

    assert [row.event for row in calls(run)] == ["success", "success"]
    assert len(noted(tmp_path, "run_ok")) == 2


def test_a_run_that_is_deleted_takes_its_callbacks_along(stack: Stack, tmp_path: Path) -> None:
    run = stack.run("goes_well", {"folder": str(tmp_path)})
    calls(run)

    done = stack.headway("runs", "delete", run.dag_id, run.run_id, "--yes")

    assert done.returncode == 0, done.stderr
    with stack.engine.connect() as conn:
        assert callback_views.callbacks(conn, run.dag_id, run.run_id) == []


def test_only_named_exceptions_are_tried_again(stack: Stack) -> None:
    run = stack.run("tries_again")

    assert {task_id: row.attempt for task_id, row in run.tasks().items()} == {
        "named": 2,
        "another": 1,
        "times_out": 2,
        "vanishes": 1,
    }
    assert "It is not tried again" in run.log("another")
    assert [row.outcome for row in run.attempts("times_out")] == ["timed_out", "timed_out"]
