"""What is told of a driver's end by its exit code."""

import signal

import pytest

from headway_worker.spark.errors import how_it_ended


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (1, "exited with 1"),
        (52, "ran out of memory, and exited with 52"),
        (-signal.SIGKILL, "was killed by SIGKILL (it may have run out of memory)"),
        (-signal.SIGTERM, "was killed by SIGTERM"),
    ],
)
def test_it_is_told_as_what_it_is(code: int, told: str) -> None:
    assert how_it_ended(code) == told
