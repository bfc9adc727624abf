"""What is told of a driver's end by its exit code."""

import signal
from types import SimpleNamespace

import pytest

from headway_worker.spark.target.errors import how_it_ended

pytest.importorskip("pyspark")
from py4j.protocol import Py4JError
from pyspark import SparkContext

from headway_worker.spark.session import own_driver


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


class _Machine:
    """A Java virtual machine that answers as py4j has it do."""

    def __init__(self, refusal: Exception | None) -> None:
        self._refusal = refusal
        self.proc = SimpleNamespace(wait=lambda _seconds: 52)
        runtime = SimpleNamespace(removeShutdownHook=self._forget)
        java = SimpleNamespace(Runtime=SimpleNamespace(getRuntime=lambda: runtime), Thread=object)
        self.jvm = SimpleNamespace(java=SimpleNamespace(lang=java))

    def _forget(self, _hook: object) -> bool:
        if self._refusal is not None:
            raise self._refusal
        return False


_JAVA = "Py4JJavaError: An error occurred while calling o36.collectToPython.\n: "


@pytest.mark.parametrize(
    ("error", "refusal", "is_its_end"),
    [
        ("Py4JNetworkError: Answer from Java side is empty", ConnectionRefusedError(), True),
        (_JAVA + "java.lang.NullPointerException", Py4JError("Shutdown in progress"), True),
        (_JAVA + "java.lang.NullPointerException", None, False),
        (_JAVA + "java.io.IOException: no room", None, False),
        (_JAVA + "java.lang.OutOfMemoryError: heap", None, True),
        (_JAVA + "Job 0 cancelled because SparkContext was shut down", None, True),
        ("LoadError: no day was loaded", Py4JError("Shutdown in progress"), True),
        ("ValueError: no such day", None, False),
    ],
)
def test_an_error_is_the_drivers_end_when_its_machine_is_ending(
    monkeypatch: pytest.MonkeyPatch, error: str, refusal: Exception | None, is_its_end: bool
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", _Machine(refusal))

    told = own_driver.explain_driver(error)

    assert (told is not None) == is_its_end
    if told is not None:
        assert "ran out of memory, and exited with 52" in told
        assert told.endswith(f"The task was told: {error.splitlines()[0]}")
