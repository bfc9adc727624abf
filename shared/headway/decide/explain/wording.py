"""How sentences to people name numbers, lists, times and commands."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))
_TEENS: Final = range(11, 14)


def command(*words: object) -> str:
    """Return a command of Headway's in backticks, in the words that a shell takes."""
    return f"`headway {shlex.join(map(str, words))}`"


def counted(number: int, what: str) -> str:
    """Return the number with the noun, in the plural unless it is one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """Return "1st", "2nd", "3rd" and so on."""
    ending = "th" if number % 100 in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def listed(names: Sequence[str], most: int = 4, total: int | None = None) -> str:
    """Return "a, b and c"; of more than `most`, or than are given, how many more there are."""
    number = len(names) if total is None else total
    shown = list(names[:most])
    if number > len(shown):
        shown.append(f"{number - len(shown):,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def lasting(seconds: float) -> str:
    """Return a duration in the largest unit of which it has at least two."""
    for length, unit in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def instant(moment: datetime) -> str:
    """Return a time in UTC, to the second."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def timed(moment: datetime, now: datetime) -> str:
    """Return a time, and how far from now it is."""
    seconds = (moment - now).total_seconds()
    distance = f"in {lasting(seconds)}" if seconds > 0 else f"{lasting(-seconds)} ago"
    return f"{instant(moment)} ({distance})"
