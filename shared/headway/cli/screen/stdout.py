"""Standard output that is full, closed, or read by nobody any more: one message, no traceback."""

import io
import os
import sys
from typing import Any, Final

from headway.domain.errors import OutputError

STREAMS: Final = (0, 1, 2)


class _Stdout(io.FileIO):
    """The descriptor of standard output; after the first failure it takes everything silently."""

    _failed = False

    def write(self, data: Any, /) -> int:
        """Write; OutputError if that fails, BrokenPipeError if nobody reads."""
        if self._failed:
            return len(data)
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            self._failed = True
            raise
        except OSError as error:
            self._failed = True
            raise OutputError(
                f"What the command printed cannot be written: {error.strerror}. Its work is done, "
                "as far as it had come."
            ) from error


def guard() -> None:
    """Have errors of standard output be Headway's own, so that no other is taken for one.

    A stream that is closed becomes /dev/null: else the next file or socket would get its number,
    and what is printed would go there.
    """
    for number in STREAMS:
        try:
            os.fstat(number)
        except OSError:
            _open_nothing(number)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - it has no path
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Stdout(1, "w", closefd=False)),
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=before.line_buffering,
            write_through=before.write_through,
        )


def _open_nothing(number: int) -> None:
    handle = os.open(os.devnull, os.O_RDWR)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)
