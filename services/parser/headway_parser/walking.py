"""Walking through a bundle's folders, whatever there may be in them."""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeAlias

from headway.runtime.clock import Clock
from headway_parser.ignore import IGNORE_FILE, IgnoreError, Rules, read_rules
from headway_parser.stamps import Stamp

LONGEST: Final = 60.0
"""Seconds after which a walk is given up; what it has found out by then the next one knows."""

SUFFIXES: Final = (".py", ".zip")
# A path of these can be opened by nobody, so nothing that is in force is there.
_CANNOT_BE: Final = frozenset({errno.ELOOP, errno.ENAMETOOLONG})

Identity: TypeAlias = tuple[int, int]


def is_allowed(name: str) -> bool:
    """Whether a file or folder of that name may be a part of a bundle."""
    return not name.startswith(".") and name != "__pycache__" and name.isprintable()


@dataclass(slots=True)
class Walk:
    """One walk below `root`.

    `problems` are why files may be missing from it, `remarks` what was left out on purpose.
    `changed` says that something went while it was looked at.
    """

    root: Path
    rules: dict[str, Rules]
    clock: Clock
    folders: dict[Identity, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    changed: bool = False
    _plain: list[tuple[str, Rules | None]] = field(default_factory=list)
    _linked: list[tuple[str, Rules | None]] = field(default_factory=list)
    _deadline: float = 0.0

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the regular files that are called like DAG files, each with its status.

        Links to folders are followed last, so that a link to a folder of the bundle does
        not give its files another name; no folder is entered twice.
        """
        self._deadline = self.clock.monotonic() + LONGEST
        self._plain = [("", None)]
        while self._plain or self._linked:
            if self.clock.monotonic() > self._deadline:
                self.problems.append(f"{self.root}: listing it takes more than {LONGEST:g} s")
                return
            yield from self._enter(*(self._plain or self._linked).pop())

    def complain(self, path: str, error: OSError) -> None:
        """Note that a path could not be looked at."""
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            self.changed = True
        elif error.errno in _CANNOT_BE:
            self.remarks.append(f"{self._shown(path)}: {error.strerror}")
        else:
            self.problems.append(f"{self._shown(path)}: {error.strerror}")

    def rules_of(self, folder: str, above: Rules | None) -> Rules | None:
        """Return the rules for what is in a folder; IgnoreError or OSError if nobody knows."""
        file = self.root / folder / IGNORE_FILE
        try:
            stamp = Stamp.of(file.stat())
        except FileNotFoundError:
            return above
        known = self.rules.get(folder)
        if known is None or known.stamp != stamp or known.above is not above:
            known = self.rules[folder] = Rules(folder, read_rules(file), above, stamp)
        return known

    def _enter(self, folder: str, above: Rules | None) -> Iterator[tuple[str, os.stat_result]]:
        try:
            status = (self.root / folder).stat()
            identity = status.st_dev, status.st_ino
            if self.folders.setdefault(identity, folder) != folder:
                return
            with os.scandir(self.root / folder) as scanned:
                entries = sorted(scanned, key=attrgetter("name"), reverse=True)
            rules = above
            if any(entry.name == IGNORE_FILE for entry in entries):
                rules = self.rules_of(folder, above)
        except OSError as error:
            self.complain(folder, error)
        except IgnoreError as error:
            self.problems.append(f"{error} Nothing in its folder is looked at until it is mended.")
        else:
            prefix = f"{folder}/" if folder else ""
            for entry in entries:
                path = prefix + entry.name
                found = self._look_at(entry, path, rules)
                if found is not None and stat.S_ISREG(found.st_mode):
                    yield path, found

    def _look_at(
        self, entry: os.DirEntry[str], path: str, rules: Rules | None
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
        self, entry: os.DirEntry[str], path: str, rules: Rules | None
    ) -> os.stat_result | None:
        """Return the status of what is called like a DAG file; keep a folder for later."""
        is_folder = entry.is_dir()
        if not is_folder and not entry.name.endswith(SUFFIXES):
            return None
        if rules is not None and rules.ignore(path, is_folder=is_folder):
            return None
        if is_folder:
            (self._linked if entry.is_symlink() else self._plain).append((path, rules))
            return None
        return entry.stat()

    def _shown(self, path: str) -> str:
        return ascii(str(self.root / path))[1:-1]
