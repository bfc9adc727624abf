"""Which logs are still to be copied: a file for each, that outlives the worker."""

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final, Self

from headway.runtime.settings.configuration import PRIVATE

_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class LogSpool:
    """The entries of one worker, in a folder that it holds a lock on for as long as it lives.

    Several workers may share a home; the next one to start takes over what a dead one has left.
    """

    folder: Path
    lock: int

    @classmethod
    def take(cls, folder: Path) -> tuple[Self, list[Path]]:
        """Return a spool of its own below `folder`, and the logs that the dead left in theirs."""
        name = token_hex(8)
        mine, unlocked = folder / name, folder / f".{name}"
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        unlocked.mkdir()
        lock = os.open(unlocked / _LOCK, os.O_CREAT | os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        unlocked.rename(mine)  # only now can others see it, and that it is held
        spool = cls(mine, lock)
        left: list[Path] = []
        for other in sorted(folder.glob("[!.]*")):
            if other != mine:
                left += spool._take_over(other)
        return spool, left

    def add(self, relative: Path) -> None:
        """Enter a log; on a full disk it is not, and is copied only while this worker lives."""
        with suppress(OSError):
            self._entry(relative).write_text(str(relative))

    def remove(self, relative: Path) -> None:
        """Strike a log out that was copied."""
        with suppress(OSError):
            self._entry(relative).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the spool; with nothing in it, it is removed."""
        if [path.name for path in self.folder.iterdir()] == [_LOCK]:
            with suppress(OSError):
                (self.folder / _LOCK).unlink()
                self.folder.rmdir()
        os.close(self.lock)

    def _entry(self, relative: Path) -> Path:
        return self.folder / sha256(str(relative).encode()).hexdigest()

    def _take_over(self, other: Path) -> list[Path]:
        try:
            lock = os.open(other / _LOCK, os.O_RDWR)
        except OSError:
            return []  # it is being made, or removed
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entries = [path for path in other.iterdir() if path.name != _LOCK]
            left = [Path(path.read_text()) for path in entries]
            for relative in left:
                self.add(relative)
            for path in (*entries, other / _LOCK):
                path.unlink()
            other.rmdir()
        except OSError:
            return []  # its worker lives, or another one is faster
        else:
            return left
        finally:
            os.close(lock)
