"""How far the clock of a process differs from the database's."""

from datetime import datetime
from typing import Final

NOTABLE: Final = 1.0
"""Seconds by which a clock may differ before anybody is told."""


def skew(before: datetime, theirs: datetime, after: datetime) -> float:
    """Return by how many seconds this clock is ahead of theirs; less than 0 if it is behind.

    `before` and `after` are readings of this clock around the moment of `theirs`.  So it is
    never more than the difference that they prove, however long the answer took.
    """
    first, last = (before - theirs).total_seconds(), (after - theirs).total_seconds()
    least, most = min(first, last), max(first, last)
    return min(max(least, 0.0), most) if most >= 0 else most


def is_notable(seconds: float) -> bool:
    """Tell whether a clock that differs by so many seconds is worth a word."""
    return abs(seconds) > NOTABLE


def is_beyond(seconds: float, bound: float) -> bool:
    """Tell whether a clock that differs by so many seconds is out of bounds; 0 is no bound."""
    return 0 < bound < abs(seconds)


def described(seconds: float) -> str:
    """Return "12.0 s ahead of the database's clock"."""
    where = "ahead of" if seconds > 0 else "behind"
    return f"{abs(seconds):.1f} s {where} the database's clock"
