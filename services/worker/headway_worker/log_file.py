"""The log of one attempt: lines with their time, up to a size."""

from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Final

from headway.runtime.clock import Clock

LONGEST_LINE: Final = 16 * 2**10
"""Bytes after which a line is broken, so that one without end needs no memory."""


@dataclass(slots=True)
class LogFile:
    """Write what a task prints, each line with the time it came in.

    When `limit` bytes are written the rest is dropped; what the worker itself has to
    say of the attempt is written even so.
    """

    path: Path
    limit: int
    clock: Clock
    dropped: int = 0
    _written: int = 0
    _rest: bytes = b""
    _file: FileIO = field(init=False)

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = FileIO(self.path, "ab")

    def feed(self, data: bytes) -> None:
        """Take the next bytes that the task has printed."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > LONGEST_LINE:
            lines.append(self._rest[:LONGEST_LINE])
            self._rest = self._rest[LONGEST_LINE:]
        self._write(lines)

    def say(self, message: str) -> None:
        """Write lines of the worker's own."""
        self._append([self._stamped(line.encode()) for line in message.splitlines()])

    def close(self) -> None:
        """Write what is left, say how much was dropped, and close the file."""
        if self._rest:
            self._write([self._rest])
        if self.dropped:
            self.say(
                f"[headway] The log reached its limit of {self.limit:,} bytes; "
                f"{self.dropped:,} bytes more were dropped (HEADWAY_WORKER_MAX_LOG_BYTES)."
            )
        self._file.close()

    def _write(self, lines: list[bytes]) -> None:
        kept: list[bytes] = []
        for line in lines:
            if self._written + len(line) > self.limit:
                self.dropped += len(line) + 1
                continue
            self._written += len(line) + 1
            kept.append(self._stamped(line))
        if kept:
            self._append(kept)

    def _append(self, lines: list[bytes]) -> None:
        # A full disk costs the log, never the task.
        try:
            self._file.write(b"".join(lines))
        except OSError:
            self.dropped += sum(map(len, lines))

    def _stamped(self, line: bytes) -> bytes:
        time = self.clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return f"{time}  ".encode() + line.rstrip(b"\r") + b"\n"
