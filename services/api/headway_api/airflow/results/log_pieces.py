"""The log of an attempt piece by piece, in whole lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from headway.runtime.logs.lines import LogLine, decode, readable
from headway.runtime.logs.reading import LogPlace

PIECE: Final = 2**20
"""Bytes of a log that are read at a time."""

LARGEST: Final = 64 * 2**20
"""Bytes of a log that one answer in JSON has at most."""


class LogMessage(BaseModel):
    """One line of a log.

    `source` is stdout, stderr, log (a record of Python's logging, with `level` and `logger`) or
    headway.  The last line of an attempt has its `outcome`.  `timestamp` is null for a line that
    is none of a log.
    """

    timestamp: datetime | None
    event: str
    source: str
    level: str | None
    logger: str | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A log in a place; `ended` if its attempt writes no more."""

    place: LogPlace
    relative: Path
    ended: bool

    def pieces(self, start: int, most: int) -> Iterator[tuple[list[bytes], int]]:
        """Yield lines from a byte on, up to so many bytes, each time with where to go on.

        A line that is not whole yet is left out, unless it stays so.
        """
        size = self.place.size(self.relative) or 0
        end = min(size, start + most)
        whole = self.ended and end == size
        while start < end:
            data = self.place.read(self.relative, start, min(end, start + PIECE))
            last = start + len(data) >= end
            if not (last and whole):
                data = data[: data.rfind(b"\n") + 1] or (data if len(data) == PIECE else b"")
            if not data:
                return
            start += len(data)
            yield data.removesuffix(b"\n").split(b"\n"), start

    def is_over(self, at: int) -> bool:
        """Tell whether nothing comes after this byte."""
        return self.ended and at >= (self.place.size(self.relative) or 0)


def messages(lines: list[bytes]) -> list[LogMessage]:
    """Return the lines as data."""
    return [_message(decode(line)) for line in lines]


def in_json_lines(lines: list[bytes]) -> str:
    """Return the lines as one JSON object each."""
    return "".join(f"{message.model_dump_json()}\n" for message in messages(lines))


def in_text(lines: list[bytes]) -> str:
    """Return the lines for people, in which nothing commands a terminal."""
    return "".join(f"{text}\n" for line in lines for text in readable(decode(line)))


def _message(line: LogLine) -> LogMessage:
    return LogMessage(
        timestamp=_instant(line.time),
        event=_whole(line.message),
        source=_whole(line.source),
        level=line.level and _whole(line.level),
        logger=line.logger and _whole(line.logger),
        outcome=line.outcome and _whole(line.outcome),
    )


def _instant(time: str) -> datetime | None:
    """Return the time of a line, None for what is none: tasks may write to their logs."""
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _whole(text: str) -> str:
    """Return the text with halves of surrogate pairs spelled out, which no UTF-8 has."""
    return text.encode(errors="backslashreplace").decode()
