"""What goes from a worker's folder of contents: what is old, and what is too much."""

import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, NamedTuple

KEPT: Final = 30 * 86400.0
"""Seconds for which a content is kept that nobody fetches, and a folder of an older release."""

DRAFTS_KEPT: Final = 86400.0
"""Seconds after which what a worker was writing when it was killed goes."""

MOST_BYTES: Final = 4 * 2**30
"""Bytes of contents; beyond that those go first that nobody has fetched for the longest."""

IN_USE: Final = 3600.0
"""Seconds for which a content that was fetched stays, however many there are."""

_CONTENT: Final = re.compile(r"[0-9a-f]{64}")
_FETCHED: Final = ".fetched"


class _Content(NamedTuple):
    fetched: float
    size: int
    path: Path


def tidy(folder: Path, now: float, in_use: Collection[str]) -> None:
    """Remove what is old, and contents beyond `MOST_BYTES`; nothing that is in use.

    Whoever needs a content that has gone asks the worker, which fetches it again.
    """
    for path, seconds in list(_others(folder)):
        kept = KEPT if _CONTENT.match(path.name) else DRAFTS_KEPT
        if now - seconds > kept:
            _remove(path)
    contents = sorted(_contents(folder))
    size = sum(content.size for content in contents)
    for content in contents:
        age = now - content.fetched
        is_old = age > KEPT or (size > MOST_BYTES and age > IN_USE)
        if is_old and content.path.name not in in_use:
            size -= content.size
            _remove(content.path)


def _contents(folder: Path) -> Iterator[_Content]:
    for path in folder.iterdir():
        with suppress(OSError):  # another worker was faster
            status = path.lstat()
            if S_ISREG(status.st_mode) and _CONTENT.fullmatch(path.name):
                yield _Content(status.st_mtime, status.st_size, path)


def _others(folder: Path) -> Iterator[tuple[Path, float]]:
    """Yield what is no content, and when it was used last: drafts, and code of older releases.

    An older release had a folder for each manifest, and a file beside it that tells of its use.
    """
    for path in folder.iterdir():
        with suppress(OSError):
            status = path.lstat()
            if S_ISREG(status.st_mode) and _CONTENT.fullmatch(path.name):
                continue
            used = status.st_mtime
            if S_ISDIR(status.st_mode):
                with suppress(OSError):
                    used = max(used, path.with_name(path.name + _FETCHED).stat().st_mtime)
            yield path, used


def _remove(path: Path) -> None:
    with suppress(OSError):  # another worker was faster, or it is another account's
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
