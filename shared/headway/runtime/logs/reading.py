"""Read the log of an attempt as it grows: from this machine, else from where logs are copied to."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from headway.domain.errors import LogsError
from headway.runtime.logs.paths import open_log

_CHUNK: Final = 256 * 2**10


class LogPlace(Protocol):
    """Where logs are; LogsError while it cannot be read."""

    def size(self, relative: Path) -> int | None:
        """Return the bytes of a log; None when it is not there."""

    def read(self, relative: Path, start: int, end: int) -> bytes:
        """Return the bytes of a log from `start` to before `end`, fewer where it ends or is not."""


@dataclass(frozen=True, slots=True)
class LocalLogs:
    """The logs of the workers of this machine, below one folder."""

    folder: Path

    def size(self, relative: Path) -> int | None:
        """Return the bytes of a log; None when it is not there."""
        with self._opened(relative) as file:
            return None if file is None else os.fstat(file).st_size

    def read(self, relative: Path, start: int, end: int) -> bytes:
        """Return the bytes of a log from `start` to before `end`, fewer where it ends or is not."""
        with self._opened(relative) as file:
            return b"" if file is None else os.pread(file, end - start, start)

    @contextmanager
    def _opened(self, relative: Path) -> Iterator[int | None]:
        try:
            file = open_log(self.folder, relative)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise LogsError(
                f"The log {self.folder / relative} cannot be read: {error.strerror or error}. "
                "Check who may read it; nothing on its path below the folder may be a link."
            ) from error
        with os.fdopen(file, "rb"):
            yield file


@dataclass(slots=True)
class LogReader:
    """One log, read piece by piece from the first place that has it; a place may come to have it.

    Copies are alike, so that reading can go on in another place; `source` is the last one.
    """

    relative: Path
    places: Sequence[LogPlace]
    source: LogPlace | None = None
    _at: int = 0
    _rest: bytes = b""

    def place(self) -> LogPlace | None:
        """Return where the log is read from now; None when it is nowhere."""
        return next((place for place in self.places if place.size(self.relative) is not None), None)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are whole by now, and were not yielded before."""
        while data := self._next():
            self._at += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            yield from lines

    def rest(self) -> bytes:
        """Return what is left of a log that does not end with a whole line."""
        rest, self._rest = self._rest, b""
        return rest

    def _next(self) -> bytes:
        for place in self.places:
            size = place.size(self.relative)
            if size is not None:
                self.source = place
                end = min(size, self._at + _CHUNK)
                return place.read(self.relative, self._at, end) if end > self._at else b""
        return b""
