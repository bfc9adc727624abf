"""What a signal handler raises where Python cannot raise it: while an object is finalized."""

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
    """Call `by`, which raises `error`, once more after Python has dropped one of the block.

    Python drops an error that is raised in a finalizer and prints "Exception ignored in …"; the
    handler of a signal may run in one.  This is for the main thread alone, and uses SIGALRM
    and ITIMER_REAL.
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
