"""The repetitions of a measurement.  In a comparison, installations take turns with them."""

import os
import sys
from collections.abc import Iterator
from typing import Final

REPEAT: Final = "HEADWAY_BENCH_REPEAT"
"""The variable that says how often to measure."""

PIPES: Final = "HEADWAY_BENCH_TURNS"
"""The variable with two file descriptors, "4,5": turns are given on one, asked for on the other."""


def turns(usual: int) -> Iterator[int]:
    """Yield the numbers of the repetitions, from 0: `usual`, or as many as HEADWAY_BENCH_REPEAT.

    In a comparison each repetition waits for its turn.  So at most one installation sets up or
    measures at a time, and what the machine does meanwhile concerns all alike.  Where no more
    turns are given, the process ends.
    """
    for number in range(int(os.environ.get(REPEAT, usual))):
        _wait_for_turn()
        yield number


def _wait_for_turn() -> None:
    pipes = os.environ.get(PIPES)
    if pipes is None:
        return
    given, asked = map(int, pipes.split(","))
    os.write(asked, b"?")
    if not os.read(given, 1):
        sys.exit(1)
