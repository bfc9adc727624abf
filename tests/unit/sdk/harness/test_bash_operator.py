"""BashOperator: exit codes, output, environment, and what happens to its processes."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen
from threading import Event, Timer
from types import FrameType
from typing import Any

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.runtime.daemon.clock import SystemClock
from headway.sdk import DAG, BashOperator
from headway.sdk.harness.execution import Result

Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]


def bash(command: str, **options: Any) -> BashOperator:
    return BashOperator(task_id="bash", bash_command=command, **options)


def test_output_goes_through_and_its_last_line_is_the_xcom(
    dag: DAG, run: Run, xcoms: XComs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(bash("echo one; echo two >&2; printf 'drei ä'")).outcome is Outcome.SUCCESS

    assert capsys.readouterr().out == "one\ntwo\ndrei ä"
    assert xcoms["bash", "return_value"] == "drei ä"


def test_the_xcom_is_made_of_the_last_line(dag: DAG, run: Run, xcoms: XComs) -> None:
    given = bash("echo '{\"rows\": 3}'", output_processor=json.loads, multiple_outputs=True)
    assert run(given).outcome is Outcome.SUCCESS

    assert xcoms["bash", "rows"] == 3
    with pytest.raises(DagError, match="output_processor must be a function"):
        bash("true", output_processor="json")


@pytest.mark.parametrize(
    ("command", "outcome", "message"),
    [
        ("exit 3", Outcome.FAILED, "The command exited with 3; its output is in the log."),
        ("exit 99", Outcome.SKIPPED, "The command exited with 99, which skips the task."),
        ("kill -9 $$", Outcome.FAILED, "The command was killed by SIGKILL."),
        ("no-such-command", Outcome.FAILED, "The command exited with 127; its output is in the"),
    ],
)
def test_exit_codes(dag: DAG, run: Run, command: str, outcome: Outcome, message: str) -> None:
    result = run(bash(command))

    assert result.outcome is outcome
    assert str(result.error).startswith(message)
    assert (result.may_retry, result.traceback) == (True, None)


@pytest.mark.parametrize(
    ("codes", "outcome"), [(3, Outcome.SKIPPED), ([3, 4], Outcome.SKIPPED), (None, Outcome.FAILED)]
)
def test_the_exit_codes_that_skip_can_be_chosen(
    dag: DAG, run: Run, codes: Any, outcome: Outcome
) -> None:
    assert run(bash("exit 3", skip_on_exit_code=codes)).outcome is outcome


def test_the_environment_is_inherited_replaced_or_added_to(
    dag: DAG, run: Run, xcoms: XComs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRPORT", "EWR")
    seen = []
    for number, options in enumerate(
        ({}, {"env": {"DAY": "{{ ds }}"}}, {"env": {"DAY": 1}, "append_env": True})
    ):
        name = f"bash{number}"
        run(BashOperator(task_id=name, bash_command="echo $AIRPORT-$DAY", **options))  # type: ignore[arg-type]
        seen.append(xcoms[name, "return_value"])

    assert seen == ["EWR-", "-2013-01-01", "EWR-1"]


def test_the_environment_tells_which_attempt_it_is(
    dag: DAG, run: Run, xcoms: XComs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CTX_DAG_EMAIL", "left@example.org")
    monkeypatch.setenv("AIRFLOW_CTX_TASK_ID", "outer")
    seen = []
    for number, env in enumerate([None, {"HEADWAY_CTX_TASK_ID": "mine"}]):
        told = bash_told(number, env)
        assert run(told).error is None
        seen.append(str(xcoms[told.task_id, "return_value"]).split())

    names = ["DAG_ID", "DAG_OWNER", "DAG_RUN_ID", "LOGICAL_DATE", "TASK_ID", "TRY_NUMBER"]
    values = ["flights", "ann", "scheduled__2013-01-01", "2013-01-01T05:00:00+00:00", "bash0", "2"]
    whole = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
    assert seen[0] == [
        f"{prefix}_CTX_{text}" for prefix in ("AIRFLOW", "HEADWAY") for text in whole
    ]
    assert "HEADWAY_CTX_TASK_ID=mine" in seen[1]
    assert "AIRFLOW_CTX_TASK_ID=bash1" in seen[1]


def bash_told(number: int, env: Any) -> BashOperator:
    command = "/usr/bin/env | /usr/bin/sort | /bin/grep _CTX_ | /usr/bin/tr '\\n' ' '"
    made = BashOperator(task_id=f"bash{number}", bash_command=command, env=env, owner="ann")
    assert isinstance(made, BashOperator)
    return made


def test_addresses_of_a_task_are_told(dag: DAG, run: Run, xcoms: XComs) -> None:
    email = "b@example.org, a@example.org"
    run(bash("echo $AIRFLOW_CTX_DAG_EMAIL", email=email))

    assert xcoms["bash", "return_value"] == "a@example.org,b@example.org"


def test_it_runs_in_a_folder_of_its_own_or_the_one_that_is_named(
    dag: DAG, run: Run, xcoms: XComs, tmp_path: Path
) -> None:
    run(bash("touch made; pwd"))
    scratch = Path(str(xcoms["bash", "return_value"]))
    run(BashOperator(task_id="named", bash_command="pwd", cwd=str(tmp_path)))

    assert not scratch.exists()
    assert xcoms["named", "return_value"] == str(tmp_path)


def test_a_folder_that_does_not_exist_is_named(dag: DAG, run: Run) -> None:
    assert "bash cannot be started in /no/such" in str(run(bash("true", cwd="/no/such")).error)


def test_megabytes_without_a_line_end_go_through(
    dag: DAG, run: Run, xcoms: XComs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(bash("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end")).error is None

    assert len(capsys.readouterr().out) == 5_000_005
    assert xcoms["bash", "return_value"] == "end"


def test_a_last_line_that_is_too_long_for_an_xcom_is_refused(
    dag: DAG, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(bash("head -c 5000000 /dev/zero | tr '\\0' x"))

    assert "an XCom may have 1,048,576. Store large data in a file" in str(result.error)


def test_a_background_process_ends_with_the_command(dag: DAG, run: Run, xcoms: XComs) -> None:
    assert run(bash("sleep 300 & echo $!")).outcome is Outcome.SUCCESS

    assert is_gone(int(str(xcoms["bash", "return_value"])))


@pytest.fixture
def interrupt() -> Iterator[Callable[[Path], None]]:
    """Raise KeyboardInterrupt in the main thread once a file has content, and that waits."""
    timers: list[Timer] = []

    def watch(file: Path) -> None:
        if file.exists() and file.read_text().endswith("\n") and is_waiting():
            os.kill(os.getpid(), signal.SIGINT)
        else:
            timers.append(Timer(0.02, watch, [file]))
            timers[-1].start()

    yield watch
    for timer in timers:
        timer.cancel()


def test_an_interrupt_kills_the_whole_group(
    dag: DAG, run: Run, tmp_path: Path, interrupt: Callable[[Path], None]
) -> None:
    pids = tmp_path / "pids"
    command = f"sleep 300 & echo $$ $! > {pids}; wait"
    interrupt(pids)

    with pytest.raises(KeyboardInterrupt):
        run(bash(command))

    assert all(is_gone(int(pid)) for pid in pids.read_text().split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bash_command": 3}, "bash_command must be a string, not 3"),
        ({"env": ["A=1"]}, "env must be a dictionary"),
        ({"cwd": 3}, "cwd must be a string"),
        ({"append_env": "yes"}, "append_env must be True or False"),
        ({"skip_on_exit_code": "99"}, "skip_on_exit_code must be an exit code or a list of them"),
        ({"skip_on_exit_code": [0]}, "skip_on_exit_code holds 0, which means success"),
    ],
)
def test_wrong_arguments_are_refused(dag: DAG, options: dict[str, Any], message: str) -> None:
    given = {"bash_command": "true", **options}

    with pytest.raises(DagError, match=f"^DAG 'flights', task 'bash': {message}"):
        BashOperator(task_id="bash", **given)


def is_waiting() -> bool:
    """Whether the main thread waits for a process: not while it starts one."""
    frame: FrameType | None = sys._current_frames()[threading.main_thread().ident or 0]
    while frame is not None and frame.f_code is not Popen.wait.__code__:
        frame = frame.f_back
    return frame is not None


def is_gone(pid: int) -> bool:
    """Wait until a killed process has ended; return whether it has, within five seconds.

    A zombie that nobody reaps counts as ended.
    """
    clock, never = SystemClock(), Event()
    deadline = clock.monotonic() + 5
    while clock.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        clock.wait(never, 0.01)
    return False
