"""The content of files as hashes: what tells that something has changed, on any machine."""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from headway.runtime.clock import Clock
from headway.serialization.manifest import manifest_hash

ABSENT: Final = "absent"
"""What stands for the content of a file that is not there, or is none to read."""

LARGEST: Final = 256 * 2**20
"""Bytes of a file beyond which its content is not looked at."""

RACY_SECONDS: Final = 0.1
"""How old a file must be for its times to tell of the next change: clocks of disks are coarse."""


class Stamp(NamedTuple):
    """By what a file is known without reading it."""

    inode: int
    size: int
    modified: int
    changed: int


@dataclass(slots=True)
class Contents:
    """The hashes of the files below a folder; a file is read again when its stamp differs."""

    clock: Clock
    _known: dict[str, tuple[Stamp, str]] = field(default_factory=dict)

    def hashes(self, root: Path, paths: Iterable[str]) -> dict[str, str]:
        """Return the content of each of these relative paths; ABSENT where there is none."""
        return {path: self.hash(root / path) for path in paths}

    def hash(self, file: Path) -> str:
        """Return the hash of a file's content."""
        stamp = stamp_of(file)
        if stamp is None:
            self._known.pop(str(file), None)
            return ABSENT
        known = self._known.get(str(file))
        if known is not None and known[0] == stamp:
            return known[1]
        found = _read(file)
        if self.clock.now().timestamp() - stamp.changed / 1e9 > RACY_SECONDS:
            self._known[str(file)] = stamp, found
        return found

    def forget(self, root: Path) -> None:
        """Forget what is below a folder that is not used any more."""
        prefix = f"{root}/"
        for path in [path for path in self._known if path.startswith(prefix)]:
            del self._known[path]


def stamp_of(file: Path) -> Stamp | None:
    """Return the stamp of a regular file; None for anything else."""
    try:
        status = os.stat(file)  # noqa: PTH116 - twice as fast, and done for every file
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def signature_of(files: Mapping[str, str], release: str) -> str:
    """Return what identifies all that a parse depends on: content by path, and what reads it."""
    return f"{release}:{manifest_hash(files)}"


def _read(file: Path) -> str:
    try:
        # A pipe in its place, since the stamp was taken, must not hold anybody up.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ABSENT
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ABSENT
        try:
            return sha256(opened.read(LARGEST)).hexdigest()
        except OSError:
            return ABSENT
