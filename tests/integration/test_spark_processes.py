"""Processes of Spark that are told from all others, found again, and ended."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from headway.runtime.clock import SystemClock
from headway_worker.spark.daemons import end_daemons
from headway_worker.spark.identity import identity_of, kill, may_live

CLOCK = SystemClock()
SESSION, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"

# A daemon forks workers; both wait for their standard input to end, which it never does.
DAEMON = textwrap.dedent("""
    import os, sys
    os.fork()
    os.write(1, b"up\\n")
    sys.stdin.read()
""")


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []

    def start_one(program: str, session_id: str = "") -> "subprocess.Popen[bytes]":
        environment = {**os.environ, "SPARK_JOB_ARTIFACT_UUID": session_id}
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment,
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


def test_the_daemon_of_an_ended_session_dies_with_its_workers_and_no_other(start: Start) -> None:
    daemon, other = start(DAEMON, SESSION), start(DAEMON, OTHER)

    assert end_daemons([os.getpid()], [SESSION]) == 1

    assert daemon.wait() < 0
    assert daemon.stdout is not None
    assert daemon.stdout.read() == b""  # its worker has closed the pipe as well
    assert other.poll() is None
    assert end_daemons([daemon.pid], [OTHER]) == 0
