"""Checks of the disk: what is left where Headway writes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.doctor.finding import Check, Finding, Subject, judged

LEAST: Final = 2**30
"""Bytes that must be free: a log may have 10 MiB, a version's code 50, and Spark spills."""


def free_space(subject: Subject) -> Iterator[Finding]:
    """Look at the space below the home, and below the folder for temporary files."""
    temporary = Path(tempfile.gettempdir())
    for name, folder in (("home", subject.home), ("temporary files", temporary)):
        there = _nearest(folder)
        free = shutil.disk_usage(there).free
        yield judged(
            f"disk of {name}",
            f"{free / 2**30:.1f} GiB free in {there}",
            f"{LEAST / 2**30:g} GiB free",
            f"Free space in {there}, or set {_variable(name)} to a folder on another disk."
            if free < LEAST
            else None,
        )


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    return next(it for it in (folder, *folder.parents) if os.path.isdir(it))  # noqa: PTH112 - it raises nothing


def _variable(name: str) -> str:
    return "HEADWAY_HOME" if name == "home" else "TMPDIR"


CHECKS: Final[tuple[Check, ...]] = (free_space,)
