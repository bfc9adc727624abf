"""The folders that attempts have for themselves while they run."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from headway_worker.supervision.own_folder import own_folder


@dataclass(frozen=True, slots=True)
class Scratch:
    """One attempt's folder, below those of its worker."""

    path: Path
    folders: "ScratchFolders"

    def leave(self, *, again: bool) -> None:
        """Let go of the folder, and of what is in it.

        It may be used `again` if it is certain that no process of the attempt is left.
        """
        if again:
            self.folders.give_back(self.path)
        else:
            remove_scratch(self.path)


class ScratchFolders:
    """The folders of a worker's attempts, below `parent`; one that stays as it was is used again.

    Before ext4 makes a folder, it looks at each inode nearby that was deleted in the last minutes.
    At a hundred attempts a second, that was 18 to 44 % of the CPU of a worker's process.  Use it in
    one thread.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._idle: list[Path] = []
        self._numbers = count(1)
        self._made: tuple[object, ...] | None = None

    def take(self, name: str) -> Scratch:
        """Return a folder of that name; OSError when that is impossible."""
        path = self._parent / name
        if not self._renamed(path):
            path.mkdir(parents=True, exist_ok=True)
            if sys.platform == "linux":
                self._made = self._made or _kind(path)
        return Scratch(path, self)

    def give_back(self, path: Path) -> None:
        """Keep a folder that is as it was made; remove any other with all that is in it."""
        if not self._kept(path):
            remove_scratch(path)

    def _kept(self, path: Path) -> bool:
        idle = self._parent / f"idle-{next(self._numbers)}"
        try:
            if self._made is None or _kind(path) != self._made or not _is_empty(path):
                return False
            path.rename(idle)
        except OSError:  # the task has removed it, or this account may not look into it
            return False
        self._idle.append(idle)
        return True

    def _renamed(self, path: Path) -> bool:
        if not self._idle:
            return False
        idle = self._idle.pop()
        try:
            idle.rename(path)
        except OSError:  # somebody has removed it, or there is no folder above
            remove_scratch(idle)
            return False
        return True


def _kind(path: Path) -> tuple[object, ...]:
    """Return what a folder is like: mode, owners, the room for entries, extended attributes."""
    status = path.lstat()
    names = sorted(os.listxattr(path, follow_symlinks=False))
    attributes = [(name, os.getxattr(path, name, follow_symlinks=False)) for name in names]
    return status.st_mode, status.st_uid, status.st_gid, status.st_size, attributes


def _is_empty(path: Path) -> bool:
    with os.scandir(path) as entries:
        return next(entries, None) is None


@contextmanager
def scratch_of_worker(parent: Path, process_id: int) -> Iterator[Path]:
    """Give a worker a folder for those of its attempts, where what dead workers left is removed."""
    with own_folder(parent, process_id) as folder:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_scratch(folder: Path) -> None:
    """Remove the folder and what is in it, as far as that can be; most attempts leave nothing.

    To look first what there is takes three times as long.
    """
    try:
        folder.rmdir()
    except OSError:  # it is not empty, or gone already
        shutil.rmtree(folder, ignore_errors=True)
