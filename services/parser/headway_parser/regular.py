"""Reading files that anyone may have put there: never wait for one, never take in too much."""

import os
import stat
from pathlib import Path


def read_regular(path: str | Path, most: int) -> bytes | None:
    """Return the first `most` bytes of a regular file, None of anything else (a pipe, a device).

    OSError if it cannot be read.
    """
    # Opening a pipe would otherwise wait for somebody to write into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
