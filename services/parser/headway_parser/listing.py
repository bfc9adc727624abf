"""Which files of a bundle may be DAG files, and what tells that one has changed."""

import logging
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.runtime.clock import Clock, SystemClock
from headway.sdk.packages import SUFFIX, mentions_dags, names_modules
from headway_parser.ignore import IgnoreError, Rules
from headway_parser.regular import read_regular
from headway_parser.walking import SUFFIXES, Identity, Stamp, Walk, is_allowed, stamp_of

log = logging.getLogger(__name__)

LARGEST: Final = 10 * 2**20
"""Bytes of a DAG file beyond which it is listed, but may not be parsed: `too_large`."""

MOST_SAID: Final = 20
"""Warnings of one listing."""

_SETTLED: Final = 2.0
"""Seconds after which a change cannot have the timestamp of the one before."""

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder that may hold DAGs, as sorted relative paths.

    `complete` is False when the folder, or a part of it, could not be read: then a
    file that is missing proves nothing.
    """

    paths: tuple[str, ...]
    complete: bool


@dataclass(slots=True)
class Lister:
    """Lists one bundle again and again, and reads only files that have changed since.

    Python files and `.zip` packages count, of names that can be stored.  Hidden folders,
    `__pycache__` and what `.headwayignore` names are left out; in safe mode also what does
    not mention both "dag" and "headway".  A symbolic link is followed, but no folder is
    entered twice; only regular files count.  What is worth a warning is logged once.
    """

    safe_mode: bool = True
    clock: Clock = field(default_factory=SystemClock)
    _verdicts: dict[str, tuple[Stamp, bool]] = field(default_factory=dict)
    _rules: dict[str, Rules] = field(default_factory=dict)
    _folders: dict[Identity, str] = field(default_factory=dict)
    _said: frozenset[str] = frozenset()

    def list(self, root: Path) -> Listing:
        """List the DAG files below `root`; one that changes meanwhile is listed again."""
        for _ in range(_TRIES):
            before = _identity(root)
            walk = Walk(root, self._rules, self.clock)
            listing = self._list(walk)
            if not walk.changed and before is not None and _identity(root) == before:
                break
        else:
            walk.problems.append(f"{root}: is missing, or files go while it is listed")
        self._say(walk)
        return Listing(listing, complete=not walk.problems)

    def holds_dags(self, root: Path, path: str) -> bool:
        """Whether the file is a DAG file now, by the rules of the listing.

        No proves nothing about a file: that it is gone is told by a complete listing alone.
        """
        if not all(map(is_allowed, path.split("/"))) or not path.endswith(SUFFIXES):
            return False
        walk = Walk(root, self._rules, self.clock)
        try:
            status = (root / path).stat()
            return (
                stat.S_ISREG(status.st_mode)
                and self._leads_to(walk, path)
                and self._may_hold_dags(walk, path, status)
            )
        except (OSError, IgnoreError):
            return False

    def _list(self, walk: Walk) -> tuple[str, ...]:
        seen, found = set(), []
        for path, status in walk.files():
            seen.add(path)
            if self._may_hold_dags(walk, path, status):
                found.append(path)
        if len(seen) < len(self._verdicts):
            self._verdicts = {path: self._verdicts[path] for path in seen & self._verdicts.keys()}
        self._folders = walk.folders
        return tuple(sorted(found))

    def _leads_to(self, walk: Walk, path: str) -> bool:
        """Whether a listing would come by the path, and under this name."""
        rules = walk.rules_of("", None)
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if rules is not None and rules.ignore(folder, is_folder=True):
                return False
            identity = _identity(walk.root / folder)
            other = self._folders.get(identity, folder) if identity else folder
            if other != folder and _identity(walk.root / other) == identity:
                return False
            rules = walk.rules_of(folder, rules)
        return rules is None or not rules.ignore(path, is_folder=False)

    def _may_hold_dags(self, walk: Walk, path: str, status: os.stat_result) -> bool:
        if status.st_size > LARGEST:
            return True
        stamp = stamp_of(status)
        known = self._verdicts.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        self._verdicts.pop(path, None)
        try:
            verdict = self._judge(walk.root / path, status)
        except OSError as error:
            walk.complain(path, error)
            return False
        if self.clock.now().timestamp() - status.st_ctime > _SETTLED:
            self._verdicts[path] = stamp, verdict
        return verdict

    def _judge(self, file: Path, status: os.stat_result) -> bool:
        if not self.safe_mode:
            return status.st_size > 0
        content = read_regular(file, LARGEST)
        if not content:
            return False
        return names_modules(content) if file.suffix == SUFFIX else mentions_dags(content)

    def _say(self, walk: Walk) -> None:
        said = frozenset([*walk.problems, *walk.remarks][:MOST_SAID])
        for what in sorted(said - self._said):
            log.warning("action=list %s", what)
        self._said = said


def list_files(root: Path, *, safe_mode: bool = True) -> Listing:
    """List the DAG files below `root` once."""
    return Lister(safe_mode).list(root)


def too_large(file: Path) -> bool:
    """Whether a DAG file is larger than any may be; it is listed to become an import error."""
    try:
        return file.stat().st_size > LARGEST
    except OSError:
        return False


def signature(root: Path, paths: Iterable[str]) -> str:
    """Return a text that differs when any of these files was changed, or has come or gone."""
    return "\n".join(f"{path} {_stamp(root / path)}" for path in sorted(paths))


def _identity(folder: Path) -> Identity | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "gone"
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
