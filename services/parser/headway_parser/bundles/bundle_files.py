"""What a task may read of its bundle besides its version's own files: those of one scan.

They are stored with a version when it is made, and make none themselves.  If some of them are not
known, the version is incomplete until a later scan knows them all.
"""

import errno
import logging
import os
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.runtime.daemon.clock import Clock
from headway.serialization.manifest import MOST_BYTES, content_hash, manifest_hash
from headway_parser.contents import RACY_SECONDS, Stamp

log = logging.getLogger(__name__)

MOST_TRIES: Final = 3
"""How often files are read again that are written meanwhile, until they are left out."""

_NOT_TO_BE_READ: Final = frozenset(
    {
        *(errno.ENOENT, errno.ENOTDIR, errno.ENXIO, errno.ELOOP, errno.ENAMETOOLONG),
        *(errno.EACCES, errno.EPERM),
    }
)
"""Errors of a file that is gone, is none, or is not for this account; any other may pass."""


@dataclass(slots=True)
class BundleReader:
    """Read files that DAG files may read as well: the parser itself might read more than those.

    That is none that lies elsewhere, whatever links there are (`root` is without any), none below
    `hidden` folders, and none that others may not read if another account reads DAG files.
    """

    clock: Clock
    hidden: tuple[Path, ...] = ()
    as_other: bool = False
    _hidden: tuple[str, ...] = field(init=False)
    _known: dict[Path, tuple[Stamp, str]] = field(default_factory=dict)
    _said: str = ""

    def __post_init__(self) -> None:
        self._hidden = tuple(str(path.resolve()) for path in self.hidden)

    def read(self, root: Path, path: str) -> tuple[Stamp, bytes] | None:
        """Return a file's content, and what it was like; None for what is not to be read.

        OSError for what could not be read this time.
        """
        try:
            opened = os.open(root / path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            if error.errno in _NOT_TO_BE_READ:
                return None
            raise
        with os.fdopen(opened, "rb") as file:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                return None
            place = _place_of(opened, root / path)
            if place is None or not self._is_allowed(root, place, status.st_mode):
                return None
            content = file.read(MOST_BYTES + 1)
        return None if len(content) > MOST_BYTES else (Stamp.of(status), content)

    def hash(self, root: Path, path: str, stamp: Stamp) -> str | None:
        """Return the hash of a file that was like that a moment ago; None if not to be read."""
        known = self._known.get(root / path)
        if known is not None and known[0] == stamp:
            return known[1]
        found = self.read(root, path)
        if found is None:
            return None
        hashed = content_hash(found[1])
        if self.clock.now().timestamp() - found[0].changed / 1e9 > RACY_SECONDS:
            self._known[root / path] = found[0], hashed
        return hashed

    def say(self, what: str) -> None:
        """Log what is left out, once."""
        if what != self._said:
            self._said = what
            if what:
                log.warning("action=list %s", what)

    def forget(self, root: Path, paths: Collection[str]) -> None:
        """Remember no other files than these of a folder."""
        kept = {root / path for path in paths}
        for path in [held for held in self._known if held not in kept]:
            del self._known[path]

    def _is_allowed(self, root: Path, place: str, mode: int) -> bool:
        # In text: pathlib would take three quarters of all time that the parser reads files for.
        top = str(root)
        if not _is_below(place, top) or any(
            _is_below(hidden, top) and _is_below(place, hidden) for hidden in self._hidden
        ):
            return False
        if not self.as_other:
            return True
        folder, is_open = os.path.dirname(place), bool(mode & stat.S_IROTH)  # noqa: PTH120
        while is_open and _is_below(folder, top):
            is_open = bool(os.stat(folder).st_mode & stat.S_IXOTH)  # noqa: PTH116
            if folder == os.sep:
                break
            folder = os.path.dirname(folder)  # noqa: PTH120
        return is_open


@dataclass(slots=True)
class StoredBundle:
    """What was stored of a bundle last: a manifest, and the hashes of the contents it names."""

    manifest_hash: str = ""
    contents: frozenset[str] = frozenset()


@dataclass(slots=True)
class BundleFiles:
    """The files of a bundle as of one scan: `stamps` by path, None if there are too many.

    `gap` says what is missing from them, as far as it is known; it is empty if nothing is.
    `last` is what was stored of an earlier scan.
    """

    root: Path
    stamps: Mapping[str, Stamp] | None
    reader: BundleReader
    gap: str = ""
    last: StoredBundle = field(default_factory=StoredBundle)
    _size: int | None = field(default=None, init=False)
    _files: Mapping[str, str] | None = field(default=None, init=False)
    _hash: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()

    @property
    def seems_complete(self) -> bool:
        """Whether nothing is known to be missing, without reading a file."""
        if self._size is None:  # not before somebody asks: there is a bundle for each look
            self._size = sum(stamp.size for stamp in (self.stamps or {}).values())
        return not self.gap and self._size <= MOST_BYTES

    @property
    def files(self) -> Mapping[str, str]:
        """The content hashes by path, the smallest files first until `MOST_BYTES`."""
        if self._files is None:
            self._files = self._hashed()
        return self._files

    @property
    def manifest_hash(self) -> str:
        """The identity of `files`."""
        if self._hash is None:
            self._hash = manifest_hash(self.files)
        return self._hash

    def remember(self) -> None:
        """Note for later scans that these files are being stored."""
        if self.last.manifest_hash != self.manifest_hash:
            self.last.manifest_hash = self.manifest_hash
            self.last.contents = frozenset(self.files.values())

    def to_store(
        self, unknown: Callable[[Collection[str]], Collection[str]]
    ) -> tuple[Mapping[str, str], Mapping[str, bytes]]:
        """Return the files, and those contents by hash that the database does not know."""
        files = dict(self.files)
        for _ in range(MOST_TRIES):
            wanted = set(unknown(set(files.values())))
            contents, changed = self._read(
                {p: digest for p, digest in files.items() if digest in wanted}
            )
            if not changed:
                break
            files |= changed
        else:
            files = {path: key for path, key in files.items() if path not in changed}
            self._miss(f"{_shown(changed)} changed each time that it was read")
        kept = {path: key for path, key in files.items() if key}
        self._files, self._hash = kept, None
        return kept, {key: content for key, content in contents.items() if key in kept.values()}

    def _read(self, files: Mapping[str, str]) -> tuple[dict[str, bytes], dict[str, str]]:
        """Return contents by hash, and what files that have changed since hold now ("" if gone)."""
        contents: dict[str, bytes] = {}
        changed: dict[str, str] = {}
        for path, expected in files.items():
            try:
                found = self.reader.read(self.root, path)
            except OSError as error:
                self._miss(f"{self.root / path}: {error.strerror}")
                found = None
            hashed = "" if found is None else content_hash(found[1])
            if hashed != expected:
                changed[path] = hashed
            elif found is not None:
                contents[expected] = found[1]
        return contents, changed

    def _hashed(self) -> Mapping[str, str]:
        if self.stamps is None:
            return {}
        left, found = MOST_BYTES, {}
        by_size = sorted(self.stamps.items(), key=lambda it: (it[1].size, it[0]))
        for number, (path, stamp) in enumerate(by_size):
            left -= stamp.size
            if left < 0:
                what = (
                    f"{self.root}: the files together have more than {MOST_BYTES:,} bytes. "
                    f"Tasks cannot read the {len(by_size) - number} largest, of {stamp.size:,} "
                    f"bytes and more ({path}), unless headway_files of a DAG file names them"
                )
                self._miss(what)
                self.reader.say(f"{what}.")
                break
            try:
                hashed = self.reader.hash(self.root, path, stamp)
            except OSError as error:
                self._miss(f"{self.root / path}: {error.strerror}")
                continue
            if hashed is not None:
                found[path] = hashed
        else:
            self.reader.say("")
        self.reader.forget(self.root, self.stamps)
        return found

    def _miss(self, what: str) -> None:
        """Note what is missing; the first of it is told."""
        self.gap = self.gap or what


def _is_below(place: str, folder: str) -> bool:
    """Tell whether a place, without any link on the way, is a folder or lies in it."""
    return f"{place}/".startswith(f"{folder.rstrip('/')}/")


def _place_of(opened: int, path: Path) -> str | None:
    """Return where an opened file is, without any link on the way; None if it went meanwhile."""
    try:
        return os.readlink(f"/proc/self/fd/{opened}")  # noqa: PTH115 - of the file itself
    except OSError:  # macOS has no /proc
        place = path.resolve()
    try:
        return str(place) if os.path.samestat(place.stat(), os.fstat(opened)) else None
    except FileNotFoundError:
        return None


def _shown(paths: Collection[str]) -> str:
    first = min(paths)
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
