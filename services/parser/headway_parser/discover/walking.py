"""Walking through a bundle's folders, whatever there may be in them."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeAlias

from headway.runtime.daemon.clock import Clock
from headway.serialization.manifest import MOST_FILES
from headway_parser.contents import Stamp
from headway_parser.discover.ignore import IGNORE_FILE, IgnoreError, IgnoreRules, read_rules

DEEPEST: Final = 64
"""Folders that may lie in one another."""

SUFFIXES: Final = (".py", ".zip")
# A path of these can be opened by nobody, so nothing that is in force is there.
_CANNOT_BE: Final = frozenset({errno.ELOOP, errno.ENAMETOOLONG})

Identity: TypeAlias = tuple[int, int]


class LateError(Exception):
    """The time for a walk is over."""


def is_allowed(name: str) -> bool:
    """Whether a file or folder of that name may be a part of a bundle."""
    return not name.startswith(".") and name != "__pycache__" and name.isprintable()


@dataclass(slots=True)
class Walk:
    """One walk below `root`, until `deadline` by the monotonic clock.

    `problems` are why files may be missing from it, `remarks` what was left out on purpose.
    `changed` says that something went while it was looked at, `late` that it was not ended.
    `others` are the regular files of other names; all are counted.
    """

    root: Path
    rules: dict[str, IgnoreRules]
    clock: Clock
    deadline: float
    folders: dict[Identity, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    changed: bool = False
    late: bool = False
    others: dict[str, Stamp] = field(default_factory=dict)
    count: int = 0
    _plain: list[tuple[str, IgnoreRules | None]] = field(default_factory=list)
    _linked: list[tuple[str, IgnoreRules | None]] = field(default_factory=list)

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the regular files that are called like DAG files, each with its status.

        Links to folders are followed last, so that a link to a folder of the bundle does
        not give its files another name; no folder is entered twice.  Raises LateError as
        soon as it is late.
        """
        self._plain = [("", None)]
        while self._plain or self._linked:
            yield from self._enter(*(self._plain or self._linked).pop())

    @property
    def mounts(self) -> set[str]:
        """The folders that it has entered which lie on another device than what holds them."""
        devices = {folder: device for (device, _), folder in self.folders.items()}
        return {
            device
            for device in devices
            if device and devices[device] != devices[device.rpartition("/")[0]]
        }

    def hurry(self) -> None:
        """Raise LateError if it is late."""
        if self.clock.monotonic() > self.deadline:
            self.late = True
            raise LateError

    def complain(self, path: str, error: OSError) -> None:
        """Note that a path could not be looked at."""
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            self.changed = True
        elif error.errno in _CANNOT_BE:
            self.remarks.append(f"{self._shown(path)}: {error.strerror}")
        else:
            self.problems.append(f"{self._shown(path)}: {error.strerror}")

    def rules_of(self, folder: str, above: IgnoreRules | None) -> IgnoreRules | None:
        """Return the rules for what is in a folder; IgnoreError or OSError if nobody knows."""
        file = self.root / folder / IGNORE_FILE
        try:
            stamp = Stamp.of(file.stat())
        except FileNotFoundError:
            return above
        known = self.rules.get(folder)
        if known is None or known.stamp != stamp or known.above is not above:
            known = self.rules[folder] = IgnoreRules(folder, read_rules(file), above, stamp)
        return known

    def _enter(
        self, folder: str, above: IgnoreRules | None
    ) -> Iterator[tuple[str, os.stat_result]]:
        try:
            status = (self.root / folder).stat()
            identity = status.st_dev, status.st_ino
            if self.folders.setdefault(identity, folder) != folder:
                return
            with os.scandir(self.root / folder) as scanned:
                entries = sorted(self._each(scanned), key=attrgetter("name"), reverse=True)
            rules = above
            if any(entry.name == IGNORE_FILE for entry in entries):
                rules = self.rules_of(folder, above)
        except OSError as error:
            self.complain(folder, error)
        except IgnoreError as error:
            self.problems.append(f"{error} Nothing in its folder is looked at until it is mended.")
        else:
            prefix = f"{folder}/" if folder else ""
            for entry in self._each(entries):
                path = prefix + entry.name
                found = self._look_at(entry, path, rules)
                if found is not None and self._is_counted(path, found):
                    yield path, found

    def _is_counted(self, path: str, status: os.stat_result) -> bool:
        """Count a regular file; return whether it is called like a DAG file."""
        if not stat.S_ISREG(status.st_mode):
            return False
        self.count += 1
        is_called_so = path.endswith(SUFFIXES)
        if not is_called_so:
            self.others[path] = Stamp.of(status)
        return is_called_so

    def _each(self, entries: Iterable[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        for entry in entries:
            self.hurry()
            yield entry

    def _look_at(
        self, entry: os.DirEntry[str], path: str, rules: IgnoreRules | None
    ) -> os.stat_result | None:
        if not is_allowed(entry.name):
            if not entry.name.isprintable():
                self.remarks.append(f"{self._shown(path)}: its name cannot be stored")
            return None
        try:
            return self._status(entry, path, rules)
        except FileNotFoundError as error:
            if not entry.is_symlink():  # a link that leads nowhere is nothing
                self.complain(path, error)
        except OSError as error:
            self.complain(path, error)
        return None

    def _status(
        self, entry: os.DirEntry[str], path: str, rules: IgnoreRules | None
    ) -> os.stat_result | None:
        """Return the status of a file; keep a folder for later.

        Of files that are not called like DAG files only as many are looked at as can matter.
        """
        is_folder = entry.is_dir()
        if not is_folder and not entry.name.endswith(SUFFIXES) and self.count > MOST_FILES:
            return None
        if rules is not None and rules.ignore(path, is_folder=is_folder, pause=self.hurry):
            return None
        if not is_folder:
            return entry.stat()
        if path.count("/") >= DEEPEST:
            self.remarks.append(f"{self._shown(path)}: lies in {DEEPEST} folders, and is left out")
        else:
            (self._linked if entry.is_symlink() else self._plain).append((path, rules))
        return None

    def _shown(self, path: str) -> str:
        return ascii(str(self.root / path))[1:-1]
