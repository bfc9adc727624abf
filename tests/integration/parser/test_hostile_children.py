"""What the parser makes of children that end otherwise than by their own will."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import ChildSpec, Exit, Forker
from headway.runtime.sandbox import Layer, Sandbox
from headway.testing.processes import sandboxes
from headway.testing.processes.sandboxes import LONG, WEAK
from headway.testing.time.clock import FakeClock
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.processor import END_SECONDS, Bounds, DagFileProcessor

BOUNDS = Bounds(seconds=30.0, output_bytes=2**20, answer_bytes=2**20)


def start(layers: frozenset[Layer]) -> Forker:
    environment = {"PATH": os.environ["PATH"]}
    return sandboxes.start(layers, Path(__file__).parents[1], environment, Sandbox())


@pytest.fixture
def forker() -> Iterator[Forker]:
    with start(WEAK) as started:
        yield started


@pytest.fixture
def unfiltered() -> Iterator[Forker]:
    with start(WEAK - {Layer.SECCOMP}) as started:
        yield started


def spec(target: str, **argument: object) -> ChildSpec:
    return ChildSpec(
        target=f"sandbox_targets:{target}", argument=argument, sandbox=Sandbox(processes=20)
    )


def result_of(processor: DagFileProcessor) -> ParsedFile | Exit | None:
    deadline = time.monotonic() + LONG
    while (result := processor.poll()) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return result


def test_more_processes_than_allowed_are_an_error_of_the_file(forker: Forker) -> None:
    processor = DagFileProcessor.start(forker, spec("fork_bomb"), "d.py", BOUNDS, SystemClock())

    result = result_of(processor)

    processor.close()
    assert isinstance(result, ParsedFile)
    assert result.error == (
        "Reading the file started more than 20 processes and threads, and was stopped. "
        "Start them inside tasks."
    )


def test_a_lost_child_is_no_error_of_the_file(unfiltered: Forker) -> None:
    target = spec("stop_all", also=0, silent=True)
    processor = DagFileProcessor.start(unfiltered, target, "d.py", BOUNDS, SystemClock())

    assert result_of(processor) == Exit(lost="Its nanny died, and the child was killed.")
    processor.close()


def test_a_child_that_cannot_be_stopped_is_given_up(unfiltered: Forker) -> None:
    clock = FakeClock()
    target = spec("stop_all", also=unfiltered.pid)
    processor = DagFileProcessor.start(unfiltered, target, "d.py", BOUNDS, clock)
    while not processor._reader._buffer and processor._answer is None:  # until it has stopped all
        assert processor.poll() is None
        time.sleep(0.02)

    clock.advance(BOUNDS.seconds + 1)
    assert processor.poll() is None
    clock.advance(END_SECONDS - 1)
    assert processor.poll() is None
    clock.advance(1)
    result = processor.poll()

    processor.close()
    assert isinstance(result, ParsedFile)
    assert result.error == (
        "Reading the file took more than 30 s. Its process could not be stopped, and was given up."
    )
