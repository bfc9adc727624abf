"""When a child that died is started again, on a clock that stands still in between."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.runtime.daemon.loop import Pace
from headway.runtime.processes.services import STEADY, ServiceGroup, ServiceProgram
from headway.runtime.settings import configuration
from headway.testing.time.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def launch(program: ServiceProgram, output: int, _gate: int | None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(program.command, stdout=output)


@pytest.fixture
def children(tmp_path: Path, clock: FakeClock) -> Iterator[ServiceGroup]:
    children = ServiceGroup(launch, tmp_path, clock, Pace(retry_first=1, retry_longest=3))
    yield children
    children.stop(patience=0)  # which kills what has not ended at once


def start(children: ServiceGroup, script: str) -> None:
    children.start(ServiceProgram("worker", ["/bin/sh", "-c", script], configuration.environment()))


def let_it_end(children: ServiceGroup) -> None:
    """Wait for the child's end, and leave it for `children` to find."""
    os.waitid(os.P_PID, children.pids()["worker"], os.WEXITED | os.WNOWAIT)


def test_a_child_that_lives_is_left_alone(children: ServiceGroup, clock: FakeClock) -> None:
    start(children, "exec sleep 60")
    before = children.pids()

    clock.advance(1000)

    assert children.restart_dead() == []
    assert children.pids() == before


def test_one_that_dies_young_is_started_later_each_time(
    children: ServiceGroup, clock: FakeClock
) -> None:
    start(children, "exit 3")
    waits = []
    for _ in range(4):
        let_it_end(children)
        dead = children.pids()
        (said,) = children.restart_dead()
        assert said.startswith("The worker ended with 3; it is started again in ")
        began = clock.monotonic()
        while children.pids() == dead:
            clock.advance(0.5)
            assert children.restart_dead() == []
        waits.append(clock.monotonic() - began)

    assert waits == [1, 2, 3, 3]


def test_one_that_had_run_well_is_started_soon_again(
    children: ServiceGroup, clock: FakeClock
) -> None:
    start(children, "exit 0")
    for _ in range(3):
        let_it_end(children)
        clock.advance(STEADY + 1)
        (said,) = children.restart_dead()
        assert "in 1.0 s" in said
        clock.advance(1)
        children.restart_dead()


def test_what_is_said_names_the_signal_and_the_log(children: ServiceGroup, tmp_path: Path) -> None:
    start(children, "echo last words; kill -KILL $$")
    let_it_end(children)

    (said,) = children.restart_dead()

    log = tmp_path / "worker.log"
    assert said == f"The worker was killed by SIGKILL; it is started again in 1.0 s (see {log})."
    assert log.read_text() == "last words\n"
