"""What the processes of all services share: how they start, say so, and stop."""

import atexit
import logging
import os
import signal
import socket
import sys
import time
from _thread import start_new_thread
from collections.abc import Mapping
from types import FrameType
from typing import Final

from headway.runtime.daemon.bell import Bell

GATE: Final = "HEADWAY_GATE"
"""The variable by which a launcher names a service the pipe that it must wait for."""


def stop_on_signals() -> Bell:
    """Return a bell that SIGTERM and SIGINT stop; nothing else happens in the handler.

    A signal that comes while Python ends is ignored, so that it does not change the exit status.
    """
    bell = Bell()

    def handle(_number: int, _frame: FrameType | None) -> None:
        # Not in this thread: it may have been interrupted with the bell's own lock in its hands.
        start_new_thread(bell.stop, ())

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
    # Python gives up handlers before it frees objects, but leaves alone what is ignored.
    atexit.register(signal.signal, signal.SIGTERM, signal.SIG_IGN)
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    return bell


def log_to_stderr(name: str, level: str = "INFO") -> None:
    """Write log lines of this process to stderr: time in UTC, level, service, message."""
    logging.basicConfig(
        stream=sys.stderr,
        level=level,
        format=f"%(asctime)s.%(msecs)03dZ %(levelname)-7s {name}  %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
    logging.Formatter.converter = time.gmtime
    logging.getLogger("alembic").setLevel("WARNING")


def await_gate(environment: Mapping[str, str]) -> None:
    """Wait until the launcher, if there is one, lets this service begin: it closes a pipe."""
    if GATE in environment:
        with open(int(environment[GATE]), "rb") as gate:  # noqa: PTH123 - it has no path
            gate.read()


def host() -> tuple[str, int]:
    """Return this host's name and this process's pid on it."""
    return socket.gethostname(), os.getpid()
