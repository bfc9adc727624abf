"""What a worker keeps of an attempt: no secret that it was given, why it was stopped, no pipe."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.domain.states import Outcome
from headway.runtime.forker import Child
from headway.runtime.logs.lines import LogSource
from headway.runtime.processes.frames import encode_frame
from headway.sdk.harness.execution import Result
from headway.testing.time.clock import FakeClock
from headway_worker.logs.file import LogFile, LogLimits
from headway_worker.protocol.result_codec import result_to_frame
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.outcome import masked
from headway_worker.supervision.scratch import ScratchFolders

CANARY = "canary-8f1e"
NOTHING: Any = None


class Task:
    """A task that the test plays: what it prints, and what it says at its end."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        channel, self.channel = socket.socketpair()
        reins, self.reins = socket.socketpair()
        reading, self.out = os.pipe()
        os.set_blocking(reading, False)
        log = LogFile(folder, Path("log"), LogLimits(2**20, 2**20), clock)
        self.folder = folder
        child = Child(channel, reins, lambda _: None)
        self.execution = Execution(
            NOTHING, child, log, {reading: LogSource.STDOUT}, ScratchFolders(folder).take("scratch")
        )

    def end(self, error: str) -> Result:
        """Say that it has failed; return what the worker makes of that."""
        result = Result(outcome=Outcome.FAILED, error=error)
        self.channel.sendall(encode_frame({"result": result_to_frame(result)}))
        self.channel.close()
        os.close(self.out)
        said = self.execution.ending(NOTHING).said
        self.execution.close()
        assert said is not None
        return masked(said, self.execution.masker)

    def log(self) -> str:
        return (self.folder / "log").read_text()


@pytest.fixture
def task(tmp_path: Path, clock: FakeClock) -> Iterator[Task]:
    task = Task(tmp_path, clock)
    yield task
    task.reins.close()


def test_what_it_was_given_is_masked_in_its_log_and_its_error(task: Task) -> None:
    task.execution.mask({CANARY, "abc", ""})
    for piece in (b"a canary", b"-8f1e and canary-8", b"f1e, abc\n", b"the end is canary-"):
        os.write(task.out, piece)
        task.execution.drain(next(iter(task.execution.output)))
    result = task.end(f"it was {CANARY}")

    assert result.error == "it was ***"
    assert CANARY not in task.log()
    assert "a *** and ***, abc" in task.log()
    assert "the end is canary-" in task.log()


def test_what_is_too_short_to_be_masked_is_warned_of_once(
    task: Task, caplog: pytest.LogCaptureFixture
) -> None:
    task.execution.mask({"", CANARY})
    assert caplog.messages == []

    task.execution.mask({"abc", "abcd", CANARY})
    task.execution.mask({"abc"})

    [warning] = caplog.messages
    assert "too short to be masked" in warning
    assert not {"abc", "abcd"} & set(warning.split())


def test_what_it_was_not_given_is_not(task: Task) -> None:
    os.write(task.out, f"{CANARY}\n".encode())
    result = task.end(f"it was {CANARY}")

    assert result.error == f"it was {CANARY}"
    assert CANARY in task.log()


def test_an_attempt_that_is_over_holds_no_pipe_open(task: Task) -> None:
    [pipe] = task.execution.output
    task.end("it ends")

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(pipe)


def test_there_may_be_more_output_until_the_task_closes_it(task: Task) -> None:
    [pipe] = task.execution.output
    os.write(task.out, b"one\n")
    assert task.execution.drain(pipe)

    os.close(task.out)
    assert not task.execution.drain(pipe)
    task.execution.close()
    task.channel.close()
    assert "one" in task.log()


def test_the_log_of_an_attempt_that_takes_too_long_says_why_it_is_stopped(task: Task) -> None:
    task.execution.deadline = 10.0
    task.execution.enforce_timeout(9.9, kill_grace=1.0)
    assert not task.execution.timed_out

    task.execution.enforce_timeout(10.0, kill_grace=1.0)
    task.end("it was stopped")

    assert task.execution.timed_out
    assert "ERROR" in task.log()
    assert "It has run for as long as it may, and is stopped." in task.log()
