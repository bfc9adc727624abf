"""What a parser's child reads of its bundle, and that it did not change meanwhile."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from headway.domain.errors import HeadwayError
from headway.serialization.manifest import MOST_BYTES, MOST_FILES, content_hash
from headway_parser.contents import LARGEST_DAG_FILE, Stamp, stamp_of
from headway_parser.file_patterns import ABSENT


class ChangedError(HeadwayError):
    """A file was written while it was read: what was made of it is of no use."""


@dataclass(slots=True)
class FilesRead:
    """The files below a folder that this process opens, as an audit hook sees them.

    `stamps` has each as it was right before it was opened first; None if it was not there.
    """

    root: Path
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    _read: dict[str, bytes] = field(default_factory=dict)

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        """Note the path, when a file of the folder is opened for reading."""
        if event == "open" and isinstance(arguments[0], str) and _reads(arguments):
            self.note(arguments[0])

    def note(self, opened: str) -> None:
        """Note a path, if it lies in the folder."""
        path = os.path.normpath(os.path.join(os.getcwd(), opened))  # noqa: PTH109, PTH118
        prefix = f"{self.root}/"
        if path.startswith(prefix) and "/__pycache__/" not in path:
            self.stamps.setdefault(path.removeprefix(prefix), stamp_of(path))

    def refuse_huge(self, path: str) -> None:
        """Raise HeadwayError, before it is read, for a file that is larger than any may be."""
        stamp = stamp_of(self.root / path)
        if stamp is not None and stamp.size > LARGEST_DAG_FILE:
            raise HeadwayError(
                f"The file has {stamp.size:,} bytes; {LARGEST_DAG_FILE:,} is the limit. Keep data "
                "out of it, or name it in .headwayignore if it is none of Headway's."
            )

    def content(self, path: str) -> bytes:
        """Return the content of a noted file; `contents` raises if it has changed since."""
        if path not in self._read:
            self._read[path] = (self.root / path).read_bytes()
        return self._read[path]

    def contents(self) -> dict[str, bytes]:
        """Return the files that were there, by relative path.

        ChangedError when one is not as it was when it was opened first.
        """
        found, left = {}, MOST_BYTES
        count = sum(stamp is not None for stamp in self.stamps.values())
        if count > MOST_FILES:
            raise HeadwayError(
                f"The file reads, imports or names in headway_files {count:,} files of its bundle; "
                f"{MOST_FILES:,} is the limit for a version."
            )
        for path, stamp in list(self.stamps.items()):
            if stamp is not None:
                left -= stamp.size
                if left < 0:
                    raise HeadwayError(
                        f"The file reads, imports or names in headway_files more than "
                        f"{MOST_BYTES:,} bytes of its bundle, which is the limit for a version. "
                        "Keep data outside the bundle, and read it inside tasks."
                    )
                try:
                    found[path] = self.content(path)
                except PermissionError:  # of which the DAG file could make nothing, either
                    del self.stamps[path]
                    continue
            if stamp_of(self.root / path) != stamp:
                raise ChangedError(f"{path} was written while it was read.")
        return found

    def hashes(self) -> dict[str, str]:
        """Return the content of every path that was opened, as hashes.

        What cannot be read is left out: to others it may be no secret, nor too much.
        """
        found = {path: self._hash(path) for path in self.stamps}
        return {path: each for path, each in found.items() if each is not None}

    def _hash(self, path: str) -> str | None:
        stamp = self.stamps[path]
        if stamp is None:
            return ABSENT
        if stamp.size > MOST_BYTES:
            return None
        try:
            content = (self.root / path).read_bytes()
        except OSError:
            return None
        if stamp_of(self.root / path) != stamp:
            raise ChangedError(f"{path} was written while it was read.")
        return content_hash(content)


def _reads(arguments: tuple[object, ...]) -> bool:
    mode = arguments[1] if len(arguments) > 1 else None
    return not isinstance(mode, str) or not set(mode) & set("wax+")
