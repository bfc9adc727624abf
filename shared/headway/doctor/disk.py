"""Checks of the disk: what is left where Headway writes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.doctor.finding import Check, Examined, Finding, judged

LEAST: Final = 2**30
"""Bytes that must be free: a log may have 10 MiB, a version's code 50, and Spark spills."""

_USUAL: Final = Path("/tmp")  # noqa: S108 - it is only looked at


def free_space(subject: Examined) -> Iterator[Finding]:
    """Look at the space below the home, and below the folder for temporary files."""
    yield _space("home", subject.home, "HEADWAY_HOME")
    yield _space("temporary files", temporary_folder() or _USUAL, "TMPDIR")


def temporary_folder() -> Path | None:
    """Return the folder for temporary files; None if there is none that can be written to."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return None


def _space(name: str, folder: Path, variable: str) -> Finding:
    there = _nearest(folder)
    free = shutil.disk_usage(there).free
    found, remedy = f"{free / 2**30:.1f} GiB free in {there}", None
    if not os.access(there, os.W_OK):
        found = f"{there} cannot be written to"
        remedy = f"Mount a writable volume at {folder}, or set {variable} to a folder on one."
    elif free < LEAST:
        remedy = f"Free space in {there}, or set {variable} to a folder on another disk."
    return judged(f"disk of {name}", found, f"{LEAST / 2**30:g} GiB free", remedy)


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if os.path.isdir(path))  # noqa: PTH112 - it raises nothing


CHECKS: Final[tuple[Check, ...]] = (free_space,)
