"""When Python looks for garbage: hardly ever in a short command, as usual in a long one.

Modules make hundreds of thousands of objects and no garbage.  To look through those again and
again, and a last time at the end, takes a fourth of the time of a short command.
"""

import gc
from typing import Final

_HARDLY_EVER: Final = 1_000_000
_USUAL: Final = gc.get_threshold()


def hardly_ever() -> None:
    """Leave garbage alone while modules are read; for the beginning of every command."""
    gc.set_threshold(_HARDLY_EVER)


def as_usual() -> None:
    """Look for garbage from now on, but not among what is there; for commands that run for long."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


def never_again() -> None:
    """Spare the process the search with which Python ends."""
    gc.freeze()
