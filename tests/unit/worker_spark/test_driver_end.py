"""What is told of a driver's end by its exit code."""

import signal
from types import SimpleNamespace

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


@pytest.mark.parametrize(
    ("error", "is_its_end"),
    [
        ("py4j.protocol.Py4JNetworkError: Answer from Java side is empty", True),
        ("ConnectionRefusedError: [Errno 111] Connection refused", True),
        ("py4j.protocol.Py4JJavaError: <exception str() failed>", True),
        ("py4j.protocol.Py4JJavaError: An error occurred: java.io.IOException: no room", False),
        ("Py4JJavaError: Job aborted\nCaused by: java.lang.OutOfMemoryError: heap", True),
        ("Py4JJavaError: Job 0 cancelled because SparkContext was shut down", True),
        ("ValueError: no such day", False),
    ],
)
def test_an_error_is_the_drivers_end_when_java_could_not_tell_more(
    monkeypatch: pytest.MonkeyPatch, error: str, is_its_end: bool
) -> None:
    classic = pytest.importorskip("headway_worker.spark.classic")
    machine = SimpleNamespace(wait=lambda _seconds: 52)
    monkeypatch.setattr(classic.SparkContext, "_gateway", SimpleNamespace(proc=machine))

    told = classic.explain_driver(error)

    assert (told is not None) == is_its_end
    assert told is None or "ran out of memory, and exited with 52" in told
