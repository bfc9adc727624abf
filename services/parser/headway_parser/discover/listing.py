"""Which files of a bundle may be DAG files, and what tells that one has changed."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.runtime.daemon.clock import Clock, SystemClock
from headway.sdk.bundle.packages import SUFFIX, mentions_dags, names_modules
from headway.serialization.manifest import MOST_FILES
from headway_parser.contents import Stamp, read_regular
from headway_parser.discover.ignore import IgnoreRules
from headway_parser.discover.walking import Identity, LateError, Walk

log = logging.getLogger(__name__)

LARGEST: Final = 10 * 2**20
"""Bytes beyond which a file is listed without a look into it: who parses it refuses it."""

MOST_SAID: Final = 20
"""Warnings of one listing."""

_SETTLED: Final = 2.0
"""Seconds after which a change cannot have the timestamp of the one before."""

_TRIES: Final = 3

LONGEST: Final = 5.0
"""Seconds that a listing may take: meanwhile nothing else is done, and others wait for a beat."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder that may hold DAGs, as sorted relative paths.

    `complete` is False when the folder, or a part of it, could not be read: then a
    file that is missing proves nothing.  `stamps` are the files', of the moment of the listing.
    `all_files` has the stamps of all files of the bundle, and is None if there are too many.
    `gap` says what is missing from these; it is empty if nothing is.
    """

    paths: tuple[str, ...]
    complete: bool
    stamps: Mapping[str, Stamp] = field(default_factory=dict, repr=False, compare=False)
    all_files: Mapping[str, Stamp] | None = field(default=None, repr=False, compare=False)
    gap: str = field(default="", compare=False)


@dataclass(slots=True)
class Lister:
    """Lists one bundle again and again, and reads only files that have changed since.

    Python files and `.zip` packages count, of names that can be stored.  Hidden folders,
    `__pycache__` and what `.headwayignore` names are left out; in safe mode also what does
    not mention "dag", and "headway" or "airflow".  A symbolic link is followed, but no folder is
    entered twice; only regular files count.  What is worth a warning is logged once.
    A listing that takes too long ends early, and the next one gets further: what was read
    need not be read again.  One that lacks a volume which was mounted in the folder before
    is not complete.
    """

    safe_mode: bool = True
    clock: Clock = field(default_factory=SystemClock)
    _verdicts: dict[str, tuple[Stamp, bool]] = field(default_factory=dict)
    _rules: dict[str, IgnoreRules] = field(default_factory=dict)
    _mounts: dict[Identity | None, set[str]] = field(default_factory=dict)
    _said: frozenset[str] = frozenset()

    def list(self, root: Path) -> Listing:
        """List the DAG files below `root`; one that changes meanwhile is listed again."""
        deadline = self.clock.monotonic() + LONGEST
        for _ in range(_TRIES):
            before = _identity(root)
            walk = Walk(root, self._rules, self.clock, deadline)
            programs: dict[str, Stamp] = {}
            found = self._list(walk, programs)
            if walk.late:
                break
            if not walk.changed and before is not None and _identity(root) == before:
                break
        else:
            walk.problems.append(f"{root}: is missing, or files go while it is listed")
        self._miss_mounts(walk, before)
        gap = next(iter(walk.problems), "")
        all_files: dict[str, Stamp] | None = {**programs, **walk.others}
        if walk.count > MOST_FILES:
            gap, all_files = _too_many(root), None
            walk.remarks.append(gap)
        self._say(walk)
        return Listing(tuple(sorted(found)), not walk.problems, found, all_files, gap)

    def _list(self, walk: Walk, programs: dict[str, Stamp]) -> dict[str, Stamp]:
        seen: set[str] = set()
        found: dict[str, Stamp] = {}
        try:
            for path, status in walk.files():
                seen.add(path)
                stamp = programs[path] = Stamp.of(status)
                if self._may_hold_dags(walk, path, status, stamp):
                    found[path] = stamp
        except LateError:
            walk.problems.append(f"{walk.root}: listing it takes more than {LONGEST:g} s")
            return found
        if len(seen) < len(self._verdicts):
            self._verdicts = {path: self._verdicts[path] for path in seen & self._verdicts.keys()}
        return found

    def _miss_mounts(self, walk: Walk, root: Identity | None) -> None:
        """Note which volumes there are, and which are no longer.

        One whose folder or link is gone from a listing that is complete is forgotten: what is
        there later is something else.
        """
        mounts, known = walk.mounts, self._mounts.get(root, set())
        for path in sorted(known - mounts):
            if _is_unmounted(walk.root / path):
                walk.problems.append(
                    f"{walk.root / path}: was a volume of its own, and is none now. If that is "
                    "for good, remove this folder or link. After a listing without it, it may be "
                    "made anew."
                )
        if not walk.problems:
            known = {path for path in known if os.path.lexists(walk.root / path)}
        if mounts or root in self._mounts:
            self._mounts[root] = known | mounts

    def _may_hold_dags(self, walk: Walk, path: str, status: os.stat_result, stamp: Stamp) -> bool:
        if status.st_size > LARGEST:
            return True
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


def _too_many(root: Path) -> str:
    return (
        f"{root}: has more than {MOST_FILES:,} files. Tasks can read those of their own version "
        "alone, which headway_files of a DAG file may name. Name data in .headwayignore that no "
        "task reads"
    )


def _identity(folder: Path) -> Identity | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_unmounted(path: Path) -> bool:
    """Tell whether what was a mount, or a link to another device, is still there but is neither."""
    try:
        return path.stat().st_dev == path.parent.stat().st_dev
    except OSError:
        return os.path.lexists(path)
