"""Errors of signal handlers that Python cannot raise, as an object is being finalized."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SOON: Final = 0.01
"""Seconds until an error that was dropped is raised again; by then the finalizer has returned."""


@contextmanager
def raised_again(error: type[BaseException], by: Callable[[], None]) -> Iterator[None]:
    """Call `by`, which raises `error`, when Python has dropped an `error` within the block.

    A signal handler may run in a finalizer.  Python drops what the handler raises there, and
    prints "Exception ignored in …".  Call this in the main thread; it uses SIGALRM and
    ITIMER_REAL.
    """

    def note(dropped: "UnraisableHookArgs") -> None:
        if dropped.exc_type is error:
            signal.setitimer(signal.ITIMER_REAL, _SOON)
        else:
            hook_before(dropped)

    def call(_number: int, _frame: FrameType | None) -> None:
        by()

    hook_before, sys.unraisablehook = sys.unraisablehook, note
    alarm_before = signal.signal(signal.SIGALRM, call)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm_before)
        sys.unraisablehook = hook_before
