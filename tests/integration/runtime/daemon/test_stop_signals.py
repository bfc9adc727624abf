"""A service stops when it is told to, whatever the signal interrupts."""

import signal
import subprocess
import sys

import pytest

PATIENCE = 20

# What the main thread does at each end of a wait, and so what a signal may find it at.
INTERRUPTED_WAIT = """
import signal
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.service import stop_on_signals

bell = stop_on_signals()
with bell.{event}._cond:
    signal.raise_signal(signal.{name})
assert bell.stopped.wait(10)
assert bell.wait(SystemClock(), 10)
"""


@pytest.mark.parametrize("event", ["stopped", "_rung"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_may_come_while_the_bell_is_locked(name: str, event: str) -> None:
    program = INTERRUPTED_WAIT.format(name=name, event=event)

    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_python_ends_does_not_change_the_exit_status(number: int) -> None:
    """Objects are freed after Python has given up the handlers of signals."""
    program = f"""
import os
from headway.runtime.daemon.service import stop_on_signals

class Freed:
    def __del__(self, kill=os.kill, me=os.getpid()):
        kill(me, {int(number)})

stop_on_signals()
freed = Freed()
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)

    assert done.returncode == 0
