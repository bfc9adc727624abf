"""The content of files: read with care, and told from other content by a stamp or a hash.

A stamp tells without reading that a file is the same as before; a hash tells so on any
machine.  Anyone may have put a file there: reading never waits for one, nor takes in too much.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from headway.runtime.daemon.clock import Clock
from headway.serialization.manifest import MOST_BYTES, content_hash, manifest_hash
from headway_parser.file_patterns import ABSENT, Patterns


def read_regular(path: str | Path, most: int) -> bytes | None:
    """Return the first `most` bytes of a regular file, None of anything else (a pipe, a device).

    OSError if it cannot be read.
    """
    # Opening a pipe would otherwise wait for somebody to write into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


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


def stamp_of(file: str | Path) -> Stamp | None:
    """Return the stamp of a regular file; None for anything else."""
    try:
        status = os.stat(file)  # noqa: PTH116 - twice as fast, and done for every file
    except (OSError, ValueError):
        return None
    return Stamp.of(status) if stat.S_ISREG(status.st_mode) else None


LARGEST_DAG_FILE: Final = 8 * 2**20
"""Bytes of a DAG file; a larger one is not even looked at."""


MOST_KNOWN: Final = 200_000
"""Files of which the content is remembered."""


RACY_SECONDS: Final = 0.1
"""How old a file must be for its times to tell of the next change: clocks of disks are coarse."""


@dataclass(slots=True)
class FileContents:
    """The hashes of the files below a folder; a file is read again when its stamp differs."""

    clock: Clock
    patterns: Patterns = field(init=False)
    _known: dict[Stamp, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.patterns = Patterns(self.clock)

    def look(self, root: Path, name: str, stamp: Stamp | None = None) -> str:
        """Return the hash of what a parse depends on: of a file, or of the names of a pattern.

        Of a pattern that is what `patterns` have found last.  `stamp` is what a file had a moment
        ago: of one that is known the file is not looked at.
        """
        known = None if stamp is None else self._known.get(stamp)
        if known is not None:
            return known  # without a path, which takes as long as all the rest
        if is_pattern(name):
            return self.patterns.found(root, name)
        return self.hash(root / name)

    def hash(self, file: Path) -> str:
        """Return the hash of a file's content, by whichever of its names; ABSENT without any."""
        stamp = stamp_of(file)
        if stamp is None:
            return ABSENT
        known = self._known.get(stamp)
        if known is not None:
            return known
        found = _read(file)
        if self.clock.now().timestamp() - stamp.changed / 1e9 > RACY_SECONDS:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[stamp] = found
        return found


def is_pattern(dependency: str) -> bool:
    """Whether a parse depends on the names that a pattern finds, and not on a file."""
    return dependency.endswith("/")


def signature_of(files: Mapping[str, str], release: str) -> str:
    """Return what identifies all that a parse depends on: content by path, and what reads it."""
    return f"{release}:{manifest_hash(files)}"


def _read(file: Path) -> str:
    try:
        content = read_regular(file, MOST_BYTES + 1)
    except OSError:
        return ABSENT
    return ABSENT if content is None or len(content) > MOST_BYTES else content_hash(content)
