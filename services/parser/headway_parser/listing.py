"""Which files of a bundle may be DAG files, and what tells that one has changed."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LARGEST: Final = 10 * 2**20
"""Bytes of a source file beyond which it is left alone."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder that may hold DAGs, as sorted relative paths.

    `complete` is False when the folder, or a part of it, could not be read: then a
    file that is missing proves nothing.
    """

    paths: tuple[str, ...]
    complete: bool


def list_files(root: Path) -> Listing:
    """List the Python files below `root` that mention both "dag" and "headway".

    Hidden folders and `__pycache__` are left out.  A symbolic link is followed, but
    no folder is entered twice; only regular files count.
    """
    problems: list[OSError] = []
    found = [
        path.relative_to(root).as_posix()
        for path in _python_files(root, problems)
        if _may_hold_dags(path, problems)
    ]
    return Listing(tuple(sorted(found)), complete=not problems)


def signature(root: Path, paths: Iterable[str]) -> str:
    """Return a text that differs when any of these files was changed, or has come or gone."""
    return "\n".join(f"{path} {_stamp(root / path)}" for path in sorted(paths))


def _python_files(root: Path, problems: list[OSError]) -> Iterator[Path]:
    entered: set[tuple[int, int]] = set()
    for folder, names, files in os.walk(root, onerror=problems.append, followlinks=True):
        try:
            here = Path(folder).stat()
        except OSError as error:  # it has gone since its parent was listed
            problems.append(error)
            names.clear()
            continue
        if (here.st_dev, here.st_ino) in entered:
            names.clear()
            continue
        entered.add((here.st_dev, here.st_ino))
        names[:] = sorted(n for n in names if _is_readable_name(n) and n != "__pycache__")
        yield from (
            Path(folder, name) for name in files if _is_readable_name(name) and name.endswith(".py")
        )


def _is_readable_name(name: str) -> bool:
    # A name that is not UTF-8 cannot be stored; one with a line break would forge a listing.
    return not name.startswith(".") and name.isprintable()


def _may_hold_dags(path: Path, problems: list[OSError]) -> bool:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= LARGEST:
            return False
        content = path.read_bytes().lower()
    except FileNotFoundError:
        return False
    except OSError as error:
        problems.append(error)
        return False
    return b"dag" in content and b"headway" in content


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "gone"
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
