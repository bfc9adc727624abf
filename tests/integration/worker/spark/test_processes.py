"""Processes of Spark that are told from all others, found again, and ended."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway_worker.spark.server.identity import identity_of, kill, may_live
from headway_worker.spark.server.udf_processes import end_marked, marked_python

CLOCK = SystemClock()
MINE, OTHER = "7-1", "7-2"

# A daemon forks workers; both wait for their standard input to end, which it never does.
DAEMON = textwrap.dedent("""
    import os, sys
    os.fork()
    os.write(1, b"up\\n")
    sys.stdin.read()
""")

# What it starts has no environment that could tell whose it is.
STARTER = textwrap.dedent("""
    import subprocess, sys
    print("up", flush=True)
    input()
    subprocess.Popen([sys.executable, "-c", "print('up', flush=True); input()"], env={})
    input()
""")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []

    def start_one(program: str, mark: str = "") -> "subprocess.Popen[bytes]":
        python = marked_python(tmp_path, sys.executable, mark)
        assert python is not None
        process = subprocess.Popen(
            [python, "-c", program],
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        for _ in range(program.count("fork") + 1):
            assert process.stdout.readline() == b"up\n"
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


Start = Callable[..., "subprocess.Popen[bytes]"]
WAITS = "print('up', flush=True); input()"


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = CLOCK.monotonic() + 60
    while not condition():
        if CLOCK.monotonic() > deadline:
            return False
        CLOCK.wait(Event(), 0.02)
    return True


def test_a_process_that_runs_is_found_by_its_identity_and_killed(start: Start) -> None:
    process = start(WAITS)
    identity = identity_of(process.pid)
    assert may_live(identity)

    kill(identity)

    assert eventually(lambda: not may_live(identity))  # dead already while nobody has waited for it
    assert process.wait() < 0


def test_another_process_of_the_same_pid_is_not_taken_for_it(start: Start) -> None:
    process = start(WAITS)
    machine, pid, started = identity_of(process.pid).split("/")
    for other in (f"{machine}/{pid}/{int(started) + 1}", f"elsewhere/{pid}/{started}"):
        assert not may_live(other)

        kill(other)

    assert process.poll() is None


def test_the_processes_of_an_ended_session_die_and_no_others(start: Start) -> None:
    """They are children of the nanny, not of the server: each has left the one that started it."""
    server, mine, other = start(WAITS), start(DAEMON, MINE), start(DAEMON, OTHER)

    assert end_marked([server.pid], [MINE]) == 2

    assert mine.wait() < 0
    assert mine.stdout is not None
    assert mine.stdout.read() == b""  # its worker has closed the pipe as well
    assert (server.poll(), other.poll()) == (None, None)
    assert end_marked([other.pid], [MINE]) == 0


@pytest.mark.regression
def test_what_a_process_starts_while_it_is_looked_for_dies_with_it(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, mine = start(WAITS), start(STARTER, MINE)
    asked, told = mine.stdin, mine.stdout
    assert asked is not None
    assert told is not None
    signals: list[int] = []

    def kill_late(pid: int, signum: int) -> None:
        if not signals:
            asked.write(b"\n")
            asked.flush()
            assert told.readline() == b"up\n"
        signals.append(signum)
        kill_now(pid, signum)

    kill_now = os.kill
    monkeypatch.setattr(os, "kill", kill_late)

    assert end_marked([server.pid], [MINE]) == 2
    assert told.read() == b""  # what it has started has closed the pipe as well


def test_a_program_is_marked_only_where_it_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)

    assert marked_python(tmp_path, sys.executable, MINE) is None
