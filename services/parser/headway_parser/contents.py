"""The content of files as hashes: what tells that something has changed, on any machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.runtime.daemon.clock import Clock
from headway.serialization.manifest import MOST_BYTES, content_hash, manifest_hash
from headway_parser.patterns import ABSENT, Patterns
from headway_parser.regular import read_regular
from headway_parser.stamps import Stamp, stamp_of

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
