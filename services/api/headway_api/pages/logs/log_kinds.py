"""Kinds of log lines, by which a page shows some of them: where they come from, or their level."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

_HEAD: Final = 96
"""Bytes of a stored line in which its source and level stand, before its message."""


class LogKind(StrEnum):
    """What a reader may choose: levels are those of Python's logging."""

    STDOUT = "stdout"
    STDERR = "stderr"
    HEADWAY = "headway"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _source(name: str) -> tuple[bytes, ...]:
    return (f'"source":"{name}"'.encode(),)


def _levels(*names: str) -> tuple[bytes, ...]:
    return tuple(f'"level":"{name}"'.encode() for name in names)


_MARKS: Final[Mapping[LogKind, tuple[bytes, ...]]] = {
    LogKind.STDOUT: _source("stdout"),
    LogKind.STDERR: _source("stderr"),
    LogKind.HEADWAY: _source("headway"),
    LogKind.INFO: _levels("DEBUG", "INFO"),
    LogKind.WARNING: _levels("WARNING"),
    LogKind.ERROR: _levels("ERROR", "CRITICAL"),
}


def is_among(line: bytes, kinds: Collection[LogKind]) -> bool:
    """Tell whether a stored line is of one of these kinds; of none given, every line is.

    It need not be decoded: what tells stands before the message, in which anything may be said.
    """
    head = line[:_HEAD].partition(b'"message":')[0]
    return not kinds or any(mark in head for kind in kinds for mark in _MARKS[kind])
