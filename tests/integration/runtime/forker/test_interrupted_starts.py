"""A signal at the very moment at which a program has been started, and nobody holds it yet."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from threading import Event

import pytest

from headway.cli.input.interrupts import ending_well
from headway.embedded.postgres import PostgresServer
from headway.runtime.forker import Prefork
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.processes.services import ServiceGroup, ServiceProgram
from headway.runtime.processes.starting import run_to_end, uninterrupted
from headway.runtime.settings import configuration
from headway.sdk.running.task_runtime import SparkApplication
from headway.testing.processes.finalized import Finalized
from headway.testing.time.clock import FakeClock, until
from headway_worker.spark.cluster.submission import Submission, SubmitSettings
from headway_worker.spark.target.connection import SparkConnection

FOREVER = [sys.executable, "-c", "import threading; threading.Event().wait()"]


@dataclass
class Starts:
    """Every program that this process starts, of which one start is interrupted."""

    interrupted: int = 0
    pids: list[int] = field(default_factory=list)

    def left(self) -> list[int]:
        return [pid for pid in self.pids if is_there(pid)]


def is_there(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Starts]:
    starts = Starts()

    class Interrupted(subprocess.Popen[str]):
        """Popen, with a signal when the program runs and whoever has started it has not got it."""

        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            starts.pids.append(self.pid)
            if len(starts.pids) == starts.interrupted:
                signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    yield starts
    for pid in starts.left():
        os.kill(pid, signal.SIGKILL)


def launch(program: ServiceProgram, output: int, _gate: int | None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(dies_with_parent(program.command), stdout=output)


def test_nothing_remains_of_a_prefork_server(starts: Starts) -> None:
    starts.interrupted = 1

    with ending_well() as ending, Prefork((), configuration.environment()):
        pytest.fail("It was to be interrupted.")

    assert ending.interrupted
    assert (len(starts.pids), starts.left()) == (1, [])


def test_a_service_that_is_just_being_started_is_stopped(tmp_path: Path, starts: Starts) -> None:
    children, starts.interrupted = ServiceGroup(launch, tmp_path, FakeClock()), 2

    with ending_well() as ending:
        try:
            for name in ("one", "two", "three"):
                children.start(ServiceProgram(name, FOREVER, configuration.environment()))
        finally:
            children.stop(60)

    assert ending.interrupted
    assert (len(starts.pids), starts.left()) == (2, [])


def test_one_that_is_just_being_started_again_is_stopped(tmp_path: Path, starts: Starts) -> None:
    clock = FakeClock()
    children, starts.interrupted = ServiceGroup(launch, tmp_path, clock), 2

    with ending_well() as ending:
        try:
            children.start(ServiceProgram("one", FOREVER, configuration.environment()))
            os.kill(starts.pids[0], signal.SIGKILL)
            until(children.restart_dead, "its death")
            clock.advance(60)
            children.restart_dead()
        finally:
            children.stop(60)

    assert ending.interrupted
    assert (len(starts.pids), starts.left()) == (2, [])


@pytest.mark.parametrize("which", [1, 2, 3], ids=["postgres --version", "initdb", "postgres"])
def test_nothing_of_postgres_remains(tmp_path: Path, starts: Starts, which: int) -> None:
    directory, starts.interrupted = tmp_path / "postgres", which

    with ending_well() as ending, PostgresServer(directory):
        pytest.fail("It was to be interrupted.")

    assert ending.interrupted
    assert (len(starts.pids), starts.left()) == (which, [])
    with PostgresServer(directory) as again:
        assert again.is_alive()


def test_nothing_remains_of_a_program_that_was_to_run_to_its_end(starts: Starts) -> None:
    starts.interrupted = 1

    with ending_well() as ending:
        run_to_end(FOREVER)

    assert ending.interrupted
    assert (len(starts.pids), starts.left()) == (1, [])


def test_nor_of_what_that_has_started(starts: Starts, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {told}; kill {os.getpid()}; wait"

    with ending_well() as ending:
        run_to_end(["sh", "-c", script])

    assert ending.interrupted
    starts.pids.append(int(told.read_text()))
    # A killed process closes its output a moment before the system shows that it has ended.
    until(lambda: not starts.left(), "the end of the program and of what that has started")


def test_nothing_remains_of_spark_submit(starts: Starts, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    submit = SubmitSettings(
        java_home=Path("/nowhere"),
        scratch=tmp_path / "scratch",
        environment={**configuration.environment(), "SPARK_HOME": str(tmp_path)},
        connection=SparkConnection(),
    )
    starts.interrupted = 1

    with ending_well() as ending:
        submission = Submission(submit, "dag.task.1", lambda _handle: None, BytesIO())
        submission.run(SparkApplication(application="job.py"))

    assert ending.interrupted
    assert (len(starts.pids), starts.left()) == (1, [])


def test_the_mask_of_before_is_there_again_whatever_comes() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    with ending_well() as ending, uninterrupted():
        signal.raise_signal(signal.SIGHUP)
        went_on = True

    assert (ending.interrupted, went_on) == (True, True)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_one_that_comes_while_an_object_is_finalized_is_heard() -> None:
    with ending_well() as ending:
        Finalized(lambda: signal.raise_signal(signal.SIGINT))
        Event().wait(300)
        pytest.fail("It was to be interrupted.")

    assert ending.interrupted
