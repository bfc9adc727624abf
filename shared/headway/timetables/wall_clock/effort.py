"""How much work is done to find one run, at most.

A timetable comes from a DAG's author and is asked by a scheduler, which others wait for.  So
whatever looks through the calendar says how much that is, and is stopped when it is too much.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

MOST_WORK: Final = 300_000
"""Work for one question, in all timetables within one; a unit is about a microsecond."""


class ExhaustedError(Exception):
    """More work was done than there is leave for."""


@dataclass(slots=True)
class Effort:
    """The work that is left."""

    left: int = MOST_WORK


_current: ContextVar[Effort | None] = ContextVar("effort", default=None)


def spend(work: int) -> None:
    """Take so much of the work that is left; ExhaustedError when it was more."""
    effort = _current.get()
    if effort is not None:
        effort.left -= work
        if effort.left < 0:
            raise ExhaustedError


@contextmanager
def limited(shares: int | None = None) -> Iterator[Effort]:
    """Limit the work done within, and leave the block when it is too much.

    A block within another one has what is left to that, and both are left together; unless it is
    given one of so many shares of it, and is left alone.
    """
    outer = _current.get()
    if outer is not None and shares is None:
        yield outer
        return
    effort = Effort() if outer is None else Effort(outer.left // (shares or 1))
    given = effort.left
    token = _current.set(effort)
    try:
        yield effort
    except ExhaustedError:
        pass
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= given - max(effort.left, 0)
