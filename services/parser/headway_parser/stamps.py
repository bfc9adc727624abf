"""What tells of a file, without reading it, that it is the same as before."""

import os
import stat
from pathlib import Path
from typing import NamedTuple


class Stamp(NamedTuple):
    """What differs when a file was written, replaced or touched; times in nanoseconds."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """Return what a status tells."""
        return cls(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )


def stamp_of(file: Path) -> Stamp | None:
    """Return the stamp of a regular file; None for anything else."""
    try:
        status = os.stat(file)  # noqa: PTH116 - twice as fast, and done for every file
    except (OSError, ValueError):
        return None
    return Stamp.of(status) if stat.S_ISREG(status.st_mode) else None
