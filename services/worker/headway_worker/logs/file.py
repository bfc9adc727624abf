"""The log of one attempt: structured lines, without secrets, up to a size."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.runtime.daemon.clock import Clock
from headway.runtime.logs.lines import (
    LONGEST_LINE,
    LogLine,
    LogSource,
    encode,
    encode_output,
    stamp,
)
from headway.runtime.masking import Masker
from headway_worker.logs.disk import LogDisk
from headway_worker.logs.overflow import Overflow

LARGEST_TAIL: Final = 256 * 2**10
LONGEST_REST: Final = 4 * LONGEST_LINE
"""Bytes of a line that has not ended which are waited for: one without end needs no memory."""

PATIENCE: Final = 1.0
"""Seconds after which a whole line is written though it may be the beginning of a secret."""

WINDOW: Final = 1.0


@dataclass(frozen=True, slots=True)
class LogLimits:
    """Bytes of a log: in all, and of what is written within a second."""

    total: int
    per_second: int

    @property
    def tail(self) -> int:
        """Bytes of them that are for the end of what was printed."""
        return min(self.total // 4, LARGEST_TAIL)


@dataclass(slots=True)
class _Stream:
    source: LogSource
    masker: Masker
    rest: bytes = b""
    fed_at: float = 0.0

    def take(self, data: bytes, now: float) -> bytes | None:
        """Return the lines that are whole, now that these bytes have come; None for no line."""
        self.fed_at = now
        return self._lines(self.masker.feed(data))

    def overdue(self, now: float) -> bytes | None:
        """Return whole lines that were held back for long."""
        if now < self.fed_at + PATIENCE:
            return None
        return self._lines(self.masker.flush_lines())

    def end(self) -> bytes | None:
        """Return what is left."""
        data, self.rest = self.rest + self.masker.flush(), b""
        return data.removesuffix(b"\n") if data else None

    def _lines(self, data: bytes) -> bytes | None:
        whole, found, rest = (self.rest + data).rpartition(b"\n")
        if len(rest) <= LONGEST_REST:
            self.rest = rest
            return whole if found else None
        at = _between_characters(rest, (len(rest) - 1) // LONGEST_LINE * LONGEST_LINE)
        self.rest = rest[at:]
        return whole + found + rest[:at]


@dataclass(slots=True)
class LogFile:
    """Write what a task prints, each line with the time it came in and where from.

    When a limit is reached the rest is counted, and its end is written when the log is closed;
    what the worker itself has to say of the attempt is written even so.
    """

    folder: Path
    relative: Path
    limits: LogLimits
    clock: Clock
    on_close: Callable[["LogFile"], None] = lambda _: None
    masker: Masker = field(default_factory=Masker)
    _streams: dict[LogSource, _Stream] = field(init=False)
    _disk: LogDisk = field(init=False)
    _overflow: Overflow = field(init=False)
    _full: bool = False
    _written: int = 0
    _window_ends: float = 0.0
    _in_window: int = 0

    def __post_init__(self) -> None:
        self._streams = {
            source: _Stream(source, self.masker.another())
            for source in (LogSource.STDOUT, LogSource.STDERR)
        }
        self._disk = LogDisk(self.folder, self.relative, self._lost)
        self._overflow = Overflow(self.limits.tail)

    @property
    def lost(self) -> int:
        """Bytes that the disk did not take."""
        return self._disk.lost

    def feed(self, source: LogSource, data: bytes) -> None:
        """Take the next bytes that the task has printed."""
        self._take(source, self._streams[source].take(data, self.clock.monotonic()))

    def tick(self) -> None:
        """Write whole lines that may be the beginning of a secret, when nothing follows them."""
        for source, stream in self._streams.items():
            if stream.masker.holds:
                self._take(source, stream.overdue(self.clock.monotonic()))

    def say(self, message: str, level: str = "INFO") -> None:
        """Write a line of the worker's own."""
        self._disk.write(self._said(message, level))

    def close(self, message: str | None = None, outcome: str | None = None) -> None:
        """Write the end of what was printed, and how it all ended; close the file."""
        for source, stream in self._streams.items():
            self._take(source, stream.end())
        rest = self._overflow.rest()
        if rest.left_out_bytes:
            self.say(self._left_out(rest.left_out_lines, rest.left_out_bytes), "WARNING")
        self._disk.write(b"".join(rest.lines))
        level = "INFO" if outcome in {None, "success", "skipped"} else "ERROR"
        self._disk.close(self._said(message, level, outcome) if message else b"")
        self.on_close(self)

    def _take(self, source: LogSource, output: bytes | None) -> None:
        if output is None:
            return
        time = stamp(self.clock.now())
        left = output if self._full else self._write(time, source, output)
        if left is not None:
            self._overflow.add(time, source, left)

    def _write(self, time: str, source: LogSource, output: bytes) -> bytes | None:
        """Write lines as far as there is room; return those that are left."""
        in_all = self.limits.total - self.limits.tail - self._written
        in_window = self._room_in_window()
        if in_window <= 0 < in_all:
            return output
        block, left = _fitting(time, source, output, min(in_all, in_window))
        self._written += len(block)
        self._in_window += len(block)
        self._disk.write(block)
        if left is not None and in_all <= in_window:
            self._full = True
            self.say(
                f"The log has reached its limit of {self.limits.total:,} bytes "
                "(HEADWAY_LOGS_MAX_BYTES); of what follows the end is written when the task ends.",
                "WARNING",
            )
        return left

    def _room_in_window(self) -> int:
        """Return how many bytes may be written now; once something was not, none for a while."""
        now = self.clock.monotonic()
        if now >= self._window_ends:
            self._window_ends, self._in_window = now + WINDOW, 0
            if self._overflow.size:
                left_out = self._left_out(self._overflow.lines, self._overflow.size)
                self.say(left_out, "WARNING")
                self._overflow.clear()
        if self._overflow.size:
            return 0
        return self.limits.per_second - self._in_window

    def _left_out(self, lines: int, count: int) -> str:
        why = f"the limit of the log is {self.limits.total:,} bytes (HEADWAY_LOGS_MAX_BYTES)"
        if not self._full:
            why = (
                f"of one second at most {self.limits.per_second:,} bytes are written "
                "(HEADWAY_LOGS_MAX_BYTES_PER_SECOND)"
            )
        return f"{lines:,} lines of {count:,} bytes were left out here: {why}."

    def _lost(self, count: int, reason: str) -> bytes:
        return self._said(f"{count:,} bytes of this log could not be written: {reason}.", "ERROR")

    def _said(self, message: str, level: str, outcome: str | None = None) -> bytes:
        return encode(
            LogLine(
                time=stamp(self.clock.now()),
                source=LogSource.HEADWAY,
                level=level,
                message=self.masker.mask(message),
                outcome=outcome,
            )
        )


def _fitting(time: str, source: LogSource, output: bytes, room: int) -> tuple[bytes, bytes | None]:
    """Return the encoded lines for which there is room, and the output that is left."""
    whole = b"".join(encode_output(time, source, output))
    if len(whole) <= room:
        return whole, None
    kept: list[bytes] = []
    lines = output.split(b"\n")
    for number, line in enumerate(lines):
        encoded = b"".join(encode_output(time, source, line))
        room -= len(encoded)
        if room < 0:
            return b"".join(kept), b"\n".join(lines[number:])
        kept.append(encoded)
    return b"".join(kept), None


def _between_characters(text: bytes, at: int) -> int:
    """Return `at`, or up to three bytes before it, so that no character of UTF-8 is cut."""
    for _ in range(3):
        if text[at] & 0xC0 != 0x80:  # noqa: PLR2004 - 10xxxxxx: not the first of its character
            break
        at -= 1
    return at
