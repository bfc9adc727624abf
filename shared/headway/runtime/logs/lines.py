"""The lines of a log: one JSON object each, with the time, where it comes from, and the message.

A task's `logging` records arrive among what it prints to stderr, each in a line of its own that
begins with RECORD.  Whatever a task prints, it becomes text within a message: it cannot make a
line that claims to be of another source.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from json.encoder import encode_basestring
from typing import Final

from headway.runtime.logs.escaping import visible

RECORD: Final = "\x1e"
_NEXT: Final = "\x1f"
LONGEST_LINE: Final = 16 * 2**10
"""Characters after which a line is broken."""

_LONGEST_NAME: Final = 200
_COLOURING: Final = re.compile("\x1b\\[[0-9;:]*m")
_to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class LogSource(StrEnum):
    """Where a line comes from: what the task prints or logs, or Headway itself."""

    STDOUT = "stdout"
    STDERR = "stderr"
    LOG = "log"
    HEADWAY = "headway"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of a log; the one that says how an attempt ended has its `outcome`, and is the last.

    The time is UTC, ISO 8601, ending in Z; empty for a line that is none of a log.
    """

    time: str
    source: str
    message: str
    level: str | None = None
    logger: str | None = None
    outcome: str | None = None


def stamp(moment: datetime) -> str:
    """Return the time of a line, to the millisecond."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode(line: LogLine) -> bytes:
    """Return the line as it stands in a file."""
    more = {"level": line.level, "logger": line.logger, "outcome": line.outcome}
    fields = {"time": line.time, "source": line.source}
    fields |= {name: value for name, value in more.items() if value is not None}
    text = _to_json({**fields, "message": line.message})
    return text.encode(errors="backslashreplace") + b"\n"


def encode_output(time: str, source: LogSource, output: bytes) -> list[bytes]:
    """Return the lines of what was printed, which are separated by line feeds.

    What is no UTF-8 is spelled out as in Python.  A line that is too long is broken.
    """
    text = output.decode(errors="backslashreplace")
    lines = text.split("\n")
    head = f'{{"time":"{time}","source":"{source}","message":'
    if RECORD in text and source is LogSource.STDERR:
        return [encoded for line in lines for encoded in _with_records(time, head, line)]
    if len(text) > LONGEST_LINE:
        return [encoded for line in lines for encoded in _encoded(head, line)]
    return [_in_one(head, line) for line in lines]


def record(level: str, logger: str, message: str) -> str:
    """Return the line, as it is printed, of a record of a task's `logging`.

    It is in one piece, however long: where a secret were cut in two, neither part would be found.
    """
    return f"{RECORD}{level}{_NEXT}{logger}{_NEXT}{encode_basestring(message)[1:-1]}"


def decode(line: bytes) -> LogLine:
    """Return what a line of a file says; one that is none, as it is, for something printed."""
    try:
        found = json.loads(line)
        return LogLine(
            time=str(found["time"]),
            source=str(found["source"]),
            message=str(found["message"]),
            level=_text(found.get("level")),
            logger=_text(found.get("logger")),
            outcome=_text(found.get("outcome")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        text = line.decode(errors="backslashreplace").rstrip("\n")
        return LogLine(time="", source=LogSource.STDOUT, message=text)


def rendered(line: LogLine) -> list[str]:
    """Return the line for a person to read, with its time and tag before each line of the message.

    Of a line that was written over again and again, as progress is, the last state is left.
    """
    tag = ""
    if line.source == LogSource.HEADWAY:
        tag = "[headway] "
    elif line.source == LogSource.LOG:
        tag = f"[{line.level}] {line.logger}: "
    elif line.source == LogSource.STDERR:
        tag = "[stderr] "
    before = f"{line.time}  {tag}" if line.time else tag
    messages = line.message.split("\n")
    return [before + message.rstrip("\r").rpartition("\r")[2] for message in messages]


def readable(line: LogLine) -> list[str]:
    """Return the line for a person to read, in which nothing commands a terminal.

    What a task prints is spelled out where it would; its colours only disturb.
    """
    return [visible(_COLOURING.sub("", text)) for text in rendered(line)]


def _encoded(head: str, line: str) -> Iterator[bytes]:
    return (_in_one(head, piece) for piece in _broken(line))


def _in_one(head: str, line: str) -> bytes:
    return f"{head}{encode_basestring(line.rstrip(chr(13)))}}}\n".encode()


def _with_records(time: str, head: str, line: str) -> Iterator[bytes]:
    printed, found, told = line.partition(RECORD)
    if printed or not found:
        yield from _encoded(head, printed)
    level, *named = told.split(_NEXT, 2)
    if len(named) == 2:  # noqa: PLR2004 - the logger and the message
        for message in _broken(_unescaped(named[1])):
            yield encode(
                LogLine(
                    time=time,
                    source=LogSource.LOG,
                    message=message,
                    level=level[:_LONGEST_NAME],
                    logger=named[0][:_LONGEST_NAME],
                )
            )
    elif found:
        yield from _encoded(head, RECORD + told)


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:  # it was broken, or no logging has made it
        return text


def _broken(line: str) -> Iterator[str]:
    for start in range(0, max(len(line), 1), LONGEST_LINE):
        yield line[start : start + LONGEST_LINE]


def _text(value: object) -> str | None:
    return None if value is None else str(value)
