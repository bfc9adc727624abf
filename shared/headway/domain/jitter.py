"""Jitter: how a delay is spread, so that what failed together is not tried again together."""

from enum import StrEnum
from hashlib import sha256
from typing import Final, TypeAlias

AttemptNumber: TypeAlias = tuple[int, int]
"""A task instance, and the number of its attempt."""

_WIDE: Final = 2**64


class Jitter(StrEnum):
    """Which part of a delay is left to chance: none of it, its second half, or all of it."""

    NONE = "none"
    EQUAL = "equal"
    FULL = "full"


def spread(seconds: float, jitter: Jitter, attempt: AttemptNumber) -> float:
    """Return a delay of at most so many seconds, and with `EQUAL` at least half of them.

    The same attempt always gets the same one, whoever asks.
    """
    match jitter:
        case Jitter.NONE:
            return seconds
        case Jitter.EQUAL:
            return seconds / 2 + seconds / 2 * _fraction(attempt)
        case Jitter.FULL:
            return seconds * _fraction(attempt)


def _fraction(attempt: AttemptNumber) -> float:
    """Return a number of [0, 1) that follows from the attempt, and from nothing else."""
    digest = sha256("{}-{}".format(*attempt).encode()).digest()
    return int.from_bytes(digest[:8]) / _WIDE
