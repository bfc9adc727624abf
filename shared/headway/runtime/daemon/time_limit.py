"""A bound on what pure work may cost, whoever has written it."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Final

from headway.domain.errors import TimetableError

_AGAIN: Final = 1.0
"""Seconds after which work that has swallowed the error is interrupted again."""


def computed() -> float:
    """Return for how many seconds this process has computed so far."""
    return time.process_time()


@contextmanager
def interrupted(seconds: float, message: str) -> Iterator[None]:
    """Raise TimetableError in what is within when it has computed for so many seconds.

    They are the process's time on the processor, so that a busy machine interrupts nothing.
    Python interrupts the main thread alone; in any other nothing is bounded.
    """
    if current_thread() is not main_thread():
        yield
        return
    within = True

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if within:
            raise TimetableError(message)

    before = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN)
            yield
        finally:
            within = False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
