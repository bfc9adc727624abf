"""A service stops when it is told to, whatever the signal interrupts."""

import subprocess
import sys

import pytest

PATIENCE = 20

# What the main thread does at each end of a wait, and so what a signal may find it at.
INTERRUPTED_WAIT = """
import signal
from headway.runtime.service import stop_on_signals

stop = stop_on_signals()
with stop._cond:
    signal.raise_signal(signal.{name})
assert stop.wait(10)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_may_come_while_the_stop_event_is_locked(name: str) -> None:
    program = INTERRUPTED_WAIT.format(name=name)

    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)
