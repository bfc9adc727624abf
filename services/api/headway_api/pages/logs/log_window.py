"""A part of a log: lines with the bytes at which they begin, by which links name them."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from headway_api.airflow.results.log_pieces import PIECE, LogMessage, StoredLog, messages
from headway_api.pages.logs.log_kinds import LogKind, is_among

MOST_LINES: Final = 80
"""Lines of a log that a page has; a script puts more of them there as somebody scrolls."""

MOST_SEARCHED: Final = 128 * 2**20
"""Bytes of a log that one request searches."""

LONGEST_SHOWN: Final = 4_000
"""Characters of a line that a page shows."""

_BYTES: Final = 131_072


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a log, and the byte at which it begins; `more` counts characters left out."""

    at: int
    message: LogMessage

    @property
    def text(self) -> str:
        """The text of the line, or its beginning."""
        return self.message.event[:LONGEST_SHOWN]

    @property
    def more(self) -> int:
        """How many characters the page leaves out."""
        return max(0, len(self.message.event) - LONGEST_SHOWN)


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Lines of a log of `size` bytes; they are all that matters from `start` to before `end`."""

    lines: Sequence[ShownLine]
    start: int
    end: int
    size: int


def before(log: StoredLog, end: int | None, most: int = MOST_LINES) -> LogWindow:
    """Return the last lines that begin before a byte; those of the end without one."""
    size = log.place.size(log.relative) or 0
    stop = size if end is None else min(end, size)
    found: list[tuple[int, bytes]] = []
    for reach in (_BYTES, PIECE):
        start = max(0, stop - reach)
        found = _lines(log, start, stop)
        if start == 0:
            break
        if len(found) > 1:
            del found[0]  # it may be half a line
            break
    return _window(found[-most:], stop, size)


def after(log: StoredLog, start: int, most: int = MOST_LINES) -> LogWindow:
    """Return the first lines from a byte on, where one begins."""
    size = log.place.size(log.relative) or 0
    found: list[tuple[int, bytes]] = []
    for reach in (_BYTES, PIECE):
        found = _lines(log, start, min(size, start + reach))
        if found:
            break
    shown = found[:most]
    end = shown[-1][0] + len(shown[-1][1]) + 1 if shown else min(start, size)
    return LogWindow(_shown(shown), start, min(end, size), size)


@dataclass(frozen=True, slots=True)
class LogSearch:
    """What lines are wanted: with this text, in capitals or not, and of one of these kinds."""

    text: str = ""
    kinds: Collection[LogKind] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.kinds)


def search(log: StoredLog, wanted: LogSearch, end: int | None, most: int = MOST_LINES) -> LogWindow:
    """Return the last lines before a byte that are wanted."""
    size = log.place.size(log.relative) or 0
    stop = size if end is None else min(end, size)
    sieve, folded = _sieve(wanted.text), wanted.text.casefold()
    found: list[tuple[int, bytes]] = []
    at, least = stop, max(0, stop - MOST_SEARCHED)
    while at > least and len(found) < most:
        at, lines = _piece_before(log, at)
        likely = [
            (place, line)
            for place, line in lines
            if is_among(line, wanted.kinds) and any(it in line.lower() for it in sieve)
        ]
        said = messages([line for _, line in likely])
        found[:0] = [
            each for each, it in zip(likely, said, strict=True) if folded in it.event.casefold()
        ]
    if len(found) > most:
        found = found[-most:]
        at = found[0][0]
    return LogWindow(_shown(found), at, stop, size)


def _sieve(text: str) -> set[bytes]:
    """Return bytes of which a line has some if its message has the text: few lines are decoded."""
    cases = {text, text.lower(), text.upper(), text.casefold()}
    written = (json.dumps(case, ensure_ascii=False)[1:-1] for case in cases)
    return {it.encode(errors="replace").lower() for it in written}


def _piece_before(log: StoredLog, end: int) -> tuple[int, list[tuple[int, bytes]]]:
    """Return where the piece before a byte begins, and its lines, the first one whole."""
    start = max(0, end - PIECE)
    data = log.place.read(log.relative, start, end)
    if not data:
        return 0, []
    cut = data.find(b"\n") + 1 if start > 0 else 0
    if cut == len(data):  # one line that is longer than a piece
        cut = 0
    return start + cut, list(_numbered(data[cut:].removesuffix(b"\n").split(b"\n"), start + cut))


def _lines(log: StoredLog, start: int, end: int) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    at = start
    for lines, following in log.pieces(start, end - start):
        found.extend(_numbered(lines, at))
        at = following
    return found


def _numbered(lines: Sequence[bytes], at: int) -> Iterator[tuple[int, bytes]]:
    for line in lines:
        yield at, line
        at += len(line) + 1


def _window(found: Sequence[tuple[int, bytes]], end: int, size: int) -> LogWindow:
    return LogWindow(_shown(found), found[0][0] if found else end, end, size)


def _shown(found: Sequence[tuple[int, bytes]]) -> list[ShownLine]:
    decoded = messages([line for _, line in found])
    return [ShownLine(at, message) for (at, _), message in zip(found, decoded, strict=True)]
