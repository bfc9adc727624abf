"""The file of a log, on a disk that may be full: what cannot be written is lost, nothing else."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.metrics.worker import LOG_BYTES
from headway.runtime.logs.paths import create_log

_LOOKED_THROUGH: Final = 128 * 2**10
"""Bytes at the end of a file in which room is made for the last words; many lines are in there."""

_DIGITS: Final = 8
"""Bytes by which the marker may grow, when it counts what it takes the place of."""


@dataclass(slots=True)
class LogDisk:
    """Append whole lines to a file, made with its folders when there is something to write.

    `lost` counts the bytes that could not be written, and `marker` makes of it and the reason
    the lines that say so: they are written as soon as there is room again.
    """

    folder: Path
    relative: Path
    marker: Callable[[int, str], bytes]
    lost: int = 0
    _unmarked: int = 0
    _reason: str = ""
    _file: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the file; 0 before anything is written."""
        return 0 if self._file is None else os.fstat(self._file).st_size

    def write(self, lines: bytes) -> None:
        """Append these lines, or as many of them as fit."""
        if not lines:
            return
        before = self._marker() if self._unmarked else b""
        written = self._append(before + lines)
        if written < len(before):
            self._lose(len(lines))
        else:
            self._unmarked = 0
            self._lose(len(before) + len(lines) - written)

    def close(self, last: bytes) -> None:
        """Append the last lines; on a full disk they take the place of others at the end."""
        self.write(last)
        if self._file is not None:
            if self._unmarked:
                self._overwrite_the_end(self._file, last)
            os.close(self._file)
            self._file = None

    def _append(self, data: bytes) -> int:
        """Return how many bytes were written: whole lines."""
        written = 0
        try:
            file = self._opened()
            while written < len(data):
                count = os.write(file, memoryview(data)[written:])
                LOG_BYTES.inc(by=count)
                written += count
        except OSError as error:
            self._reason = error.strerror or str(error)
            return self._without_torn_line(data, written)
        return written

    def _opened(self) -> int:
        if self._file is None:
            self._file = create_log(self.folder, self.relative)
        return self._file

    def _without_torn_line(self, data: bytes, written: int) -> int:
        whole = data.rfind(b"\n", 0, written) + 1
        if self._file is not None and written > whole:
            os.ftruncate(self._file, os.lseek(self._file, whole - written, os.SEEK_CUR))
        return whole

    def _overwrite_the_end(self, file: int, last: bytes) -> None:
        size = os.lseek(file, 0, os.SEEK_END)
        start = max(0, size - _LOOKED_THROUGH)
        end = os.pread(file, size - start, start)
        needed = len(self._marker()) + _DIGITS + len(last)
        at = start + end.rfind(b"\n", 0, max(len(end) - needed, 0)) + 1
        self._lose(size - at - len(last))
        with suppress(OSError):  # there is no room even for that
            os.ftruncate(file, at)
            os.pwrite(file, self._marker() + last, at)

    def _lose(self, count: int) -> None:
        self.lost += count
        self._unmarked += count

    def _marker(self) -> bytes:
        return self.marker(self._unmarked, self._reason)
