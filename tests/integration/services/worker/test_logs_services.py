"""Logs of real tasks: floods and rubbish, levels, following them, and reading their copies."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from headway.runtime.logs.lines import LONGEST_LINE, LogLine
from headway.runtime.logs.paths import LogKey
from headway.testing.services.stack import Services, Stack, running_stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import PATIENCE, until

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "logs"
LIMIT = 2**20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def stack(folder: Path) -> Iterator[Stack]:
    given = {
        "HEADWAY_LOGS_MAX_BYTES": str(LIMIT),
        "HEADWAY_LOGS_REMOTE": f"file://{folder}/copies",
        "HEADWAY_LOGS_COPY_INTERVAL": "0.2",
    }
    with running_stack(folder / "home", DAGS, given) as stack:
        yield stack


@pytest.fixture(scope="module")
def floods(stack: Stack) -> StackRun:
    run = stack.trigger("floods")
    until(lambda: run.row.ended_at, "the end of the flood", patience=600.0)
    return run


def own(lines: list[LogLine]) -> str:
    return "\n".join(line.message for line in lines if line.source == "headway")


def size(run: StackRun, task_id: str) -> int:
    return len(run.stack.headway(*address(run, task_id), "-o", "json").stdout.encode())


def address(run: StackRun, task_id: str) -> tuple[str, ...]:
    return "tasks", "logs", run.dag_id, run.run_id, task_id


@pytest.mark.parametrize(
    ("task_id", "returned"),
    [
        ("two_gigabytes", "dry"),
        ("one_line_of_100_megabytes", "broken"),
        ("no_text", "fine"),
        ("a_million_lines", "counted"),
    ],
)
def test_whatever_a_task_prints_it_ends_well_and_its_log_is_small(
    floods: StackRun, task_id: str, returned: str
) -> None:
    lines = floods.log_lines(task_id)

    assert floods.xcom(task_id) == returned
    assert lines[-1].outcome == "success"
    assert size(floods, task_id) < LIMIT + 4096
    assert all(len(line.message) <= LONGEST_LINE for line in lines)
    assert f"reached its limit of {LIMIT:,} bytes (HEADWAY_LOGS_MAX_BYTES)" in own(lines)
    assert "were left out here" in own(lines)


def test_of_a_flood_the_end_is_kept(floods: StackRun) -> None:
    printed = [
        line.message for line in floods.log_lines("two_gigabytes") if line.source == "stdout"
    ]
    counted = [
        int(line.message) for line in floods.log_lines("a_million_lines") if line.source == "stdout"
    ]

    assert (printed[0], printed[-1]) == ("y", "the end")
    assert (counted[0], counted[-1]) == (0, 999_999)
    (left_out,) = [
        int(line.message.split()[0].replace(",", ""))
        for line in floods.log_lines("a_million_lines")
        if "were left out here" in line.message
    ]
    assert left_out == 1_000_000 - len(counted)


def test_what_is_no_text_cannot_command_a_terminal(stack: Stack, floods: StackRun) -> None:
    shown = stack.headway(*address(floods, "no_text")).stdout

    assert r"\x00\xff\xfered\x1b]0;title\x07\x80 end" in shown
    assert not {letter for letter in shown if not letter.isprintable()} - {"\n", "\t"}


def test_streams_and_levels_are_told_apart(stack: Stack) -> None:
    run = stack.run("talks")
    lines = [line for line in run.log_lines("says_things") if line.source != "headway"]
    found = {line.message.partition("\n")[0]: line for line in lines}

    assert (found["to stdout"].source, found["to stderr"].source) == ("stdout", "stderr")
    assert not [line for line in lines if "too little" in line.message]
    info, warning, error = (found[name] for name in ("an info", "a warning", "an error"))
    assert [(line.source, line.level, line.logger) for line in (info, warning, error)] == [
        ("log", level, "reports.daily") for level in ("INFO", "WARNING", "ERROR")
    ]
    assert warning.message == "a warning\nof two lines"
    assert error.message.endswith("ValueError: inner")
    text = stack.headway(*address(run, "says_things")).stdout
    assert "Z  [WARNING] reports.daily: of two lines\n" in text
    raw = stack.headway(*address(run, "says_things"), "--output", "json").stdout
    assert json.loads(raw.splitlines()[-1])["outcome"] == "success"


@contextmanager
def elsewhere(services: Services, folder: Path, *command: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a command as on another machine: the database and the copies are all that it knows."""
    folder.mkdir()
    url = (services.home / "database-url").read_text()
    environment = {
        **services.environment,
        "HEADWAY_HOME": str(folder),
        "HEADWAY_DATABASE_URL": url,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "headway.cli", *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_to(process: "subprocess.Popen[str]", text: str) -> list[str]:
    """Return the lines up to the one with that text; it is killed when that does not come."""
    assert process.stdout is not None
    lines = []
    patience = Timer(PATIENCE, process.kill)
    patience.start()
    for line in process.stdout:
        lines.append(line)
        if text in line:
            patience.cancel()
            return lines
    raise AssertionError(f"{text!r} did not come: {lines}, {process.communicate()}")


def test_a_task_is_followed_from_another_machine_through_its_attempts(
    stack: Stack, tmp_path: Path
) -> None:
    run = stack.trigger("takes_its_time", {"folder": str(tmp_path)})
    command = (*address(run, "waits"), "--follow")

    with elsewhere(stack, tmp_path / "other", *command) as follower:
        first = read_to(follower, "attempt 1 has begun")
        (tmp_path / "go1").touch()
        second = read_to(follower, "attempt 2 has begun")
        (tmp_path / "go2").touch()
        rest, errors = follower.communicate(timeout=PATIENCE)

    assert "Attempt 1 of" in first[0]
    assert "it goes on" in second[0]
    assert any("[headway] failed: RuntimeError: once more" in line for line in second)
    assert [line.partition("  ")[2] for line in rest.splitlines()] == [
        "it goes on",
        "[headway] success: done.",
    ]
    assert (follower.returncode, errors) == (0, "")
    assert run.wait().state == "success"


def test_a_log_that_is_only_elsewhere_is_read_there(
    stack: Stack, floods: StackRun, tmp_path: Path
) -> None:
    here = stack.headway(*address(floods, "no_text")).stdout
    copy = stack.home.parent / "copies" / LogKey("floods", floods.run_id, "no_text", -1, 1).relative
    until(lambda: copy.exists() and b'"outcome":' in copy.read_bytes(), "the last copy")

    with elsewhere(stack, tmp_path / "other", *address(floods, "no_text")) as reader:
        there, _ = reader.communicate(timeout=PATIENCE)

    assert there == here


def test_a_worker_that_cannot_reach_the_store_says_so_and_does_not_start(stack: Stack) -> None:
    remote = {"HEADWAY_LOGS_REMOTE": "abfs://container/logs"}
    elsewhere = Stack(
        stack.home, stack.dags, {**stack.environment, **remote}, stack.engine, stack.service
    )

    done = elsewhere.headway("worker")

    assert done.returncode == 2
    assert done.stderr.startswith(
        "Error: HEADWAY_LOGS_REMOTE: logs cannot be copied to abfs:// here:"
    )
