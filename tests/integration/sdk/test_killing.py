"""`on_kill`: called by the signal that a worker stops a task with, and then the process ends."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from headway.sdk import BaseOperator, EmptyOperator
from headway.sdk.harness.killing import minding_kill

PROGRAM = """
import os, signal
from headway.sdk import BaseOperator
from headway.sdk.harness.killing import minding_kill

class Remote(BaseOperator):
    def on_kill(self):
        print("told", flush=True)
        {more}

try:
    with minding_kill(Remote(task_id="t")):
        os.kill(os.getpid(), signal.SIGTERM)
        print("it goes on")
finally:
    print("it unwinds")
"""


class Remote(BaseOperator):
    """An operator with something elsewhere."""

    def on_kill(self) -> None:
        raise AssertionError("nobody has sent a signal")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("pass", ["told"]),
        ("raise RuntimeError('no answer')", ["told", "RuntimeError: no answer"]),
        ("os.kill(os.getpid(), signal.SIGTERM)", ["told"]),
    ],
)
def test_the_process_ends_by_the_signal_whatever_on_kill_does(more: str, said: list[str]) -> None:
    program = [sys.executable, "-c", PROGRAM.format(more=more)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)

    lines = done.stdout.splitlines()
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert lines[0] == "told"
    assert set(said) <= set(lines)
    assert not {"it goes on", "it unwinds"} & set(lines)


def test_the_signal_means_what_it_meant_when_the_task_is_done() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with minding_kill(Remote(task_id="t")):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_without_on_kill_or_in_another_thread_nothing_is_changed() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def look() -> object:
        with minding_kill(Remote(task_id="t")):
            return signal.getsignal(signal.SIGTERM)

    with minding_kill(EmptyOperator(task_id="t")):
        assert signal.getsignal(signal.SIGTERM) is before
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(look).result() is before
