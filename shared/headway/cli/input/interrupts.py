"""Ctrl-C and SIGTERM: the first ends what runs in good order, further ones change nothing."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final, NoReturn

from headway.runtime.daemon.unraisable import raised_again

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Interrupts:
    """Whether the block was interrupted."""

    interrupted: bool = False


@contextmanager
def ending_well() -> Iterator[Interrupts]:
    """Run a block that a signal ends by KeyboardInterrupt, once; it is not raised further.

    What the block does on its way out is not interrupted again: it is bounded in time
    by itself, and a `kill -9` is survived by none of its processes.
    """
    ending = Interrupts()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if not ending.interrupted:
            ending.interrupted = True
            _interrupt()

    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        with raised_again(KeyboardInterrupt, _interrupt):
            yield ending
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt
