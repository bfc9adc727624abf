"""The files and folders that hold secrets, and the modes that keep others from them."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.runtime.settings import configuration, secret_keys

log = logging.getLogger(__name__)

IN_HOME: Final = (
    "database-url",
    secret_keys.KEYS_FILE,
    secret_keys.UNFINISHED_KEYS_FILE,
    "postgres/password",
)
"""Files of a home that hold secrets."""

_SPECIAL: Final = stat.S_ISUID | stat.S_ISGID
_OF_FILES: Final = stat.S_IRWXG | stat.S_IRWXO | _SPECIAL
_OF_FOLDERS: Final = stat.S_IRGRP | stat.S_IWGRP | stat.S_IROTH | stat.S_IWOTH | _SPECIAL
"""To pass through a folder is no right to look into it."""

_OPENING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def private_paths(home: Path) -> Iterator[Path]:
    """Yield what only its account may read: in a home, and where the settings name more.

    SettingsError, at the end, if these cannot be read.
    """
    yield home
    yield from (home / name for name in IN_HOME)
    yield configuration.private_paths()[1]
    yield from secret_keys.private_paths()


def surplus(mode: int) -> int:
    """Return the bits of a mode, as `stat` has it, that give others what is secret."""
    return mode & (_OF_FOLDERS if stat.S_ISDIR(mode) else _OF_FILES)


def repair_modes(home: Path) -> list[Path]:
    """Take surplus bits from the modes of what holds secrets; return what had some.

    Only what belongs to this account is changed, never what a symbolic link or a hard link leads
    to.  A mode that cannot be changed is only logged.
    """
    return [path for path in dict.fromkeys(private_paths(home)) if _repair(path)]


def is_read_only(file: int | Path) -> bool:
    """Whether a file is mounted so that nobody can change its mode here, as secrets in a pod."""
    return bool(os.statvfs(file).f_flag & os.ST_RDONLY)


def _repair(path: Path) -> bool:
    try:
        return _repair_open(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        if not _is_symlink(path):
            log.warning(
                "action=not_repaired file=%s error=%s; others may read or change it.",
                path,
                error.strerror,
            )
        return False


def _is_symlink(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:  # this account may not even look into its folder
        return False


def _repair_open(path: Path) -> bool:
    opened = os.open(path, _OPENING)
    try:
        found = os.fstat(opened)
        mode, bits = stat.S_IMODE(found.st_mode), surplus(found.st_mode)
        is_linked = stat.S_ISREG(found.st_mode) and found.st_nlink > 1
        if not bits or is_linked or found.st_uid != os.geteuid() or is_read_only(opened):
            return False
        os.fchmod(opened, mode & ~bits)
    finally:
        os.close(opened)
    log.warning(
        "action=repaired file=%s mode=%o was=%o; others could read or change it.",
        path,
        mode & ~bits,
        mode,
    )
    return True
