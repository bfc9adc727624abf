"""The files in a home that only its account may read, and their modes."""

import logging
import stat
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

PRIVATE: Final = ("secret-keys", "secret-keys.new", "database-url", "postgres/password")
"""Files of a home that hold secrets."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO | stat.S_ISUID | stat.S_ISGID
_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def repair_modes(home: Path) -> list[Path]:
    """Take from others what lets them read secrets of a home, or write in it; return what it was.

    A mode that cannot be changed is only logged.
    """
    surplus = {home: _OTHERS_MAY_WRITE, **{home / name: _OTHERS for name in PRIVATE}}
    return [path for path, bits in surplus.items() if _take(path, bits)]


def _take(path: Path, bits: int) -> bool:
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if not mode & bits or path.is_symlink():
            return False
        path.chmod(mode & ~bits)
    except FileNotFoundError:
        return False
    except OSError as error:
        log.warning(
            "action=not_repaired file=%s mode=%o error=%s; others may read or change it.",
            path,
            mode,
            error.strerror,
        )
        return False
    log.warning(
        "action=repaired file=%s mode=%o was=%o; others could read or change it.",
        path,
        mode & ~bits,
        mode,
    )
    return True
