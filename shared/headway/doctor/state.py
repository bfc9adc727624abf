"""Checks of local state: the home, and who may read the secrets in it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from headway.doctor.finding import Check, Finding, Subject, judged
from headway.domain.errors import SettingsError
from headway.runtime import configuration, secret_settings

_PRIVATE: Final = 0o077
"""The rights of everybody but the owner."""

_LOOKING: Final = 0o066
"""The rights to look into a folder, or to write in it; to pass through it is another one."""


def secret_modes(_subject: Subject) -> Iterator[Finding]:
    """Look at who may read the files in which secrets are."""
    for path in dict.fromkeys(_with_secrets()):
        try:
            if path.exists() and not _is_read_only(path):
                yield _private(path)
        except PermissionError:
            yield Finding(
                f"mode of {path}",
                ok=False,
                found="this account may not look at it",
                wanted="a path of this account",
                remedy=f"Run this as the account that owns {path.parent}, or set HEADWAY_HOME, or "
                "the setting that names the path, to one of its own.",
            )


def _with_secrets() -> Iterator[Path]:
    home, settings_file = configuration.private_paths()
    yield from (home, settings_file, home / "database-url", home / secret_settings.KEYS_FILE)
    try:
        yield from secret_settings.private_paths()
    except SettingsError:
        return  # it is a finding of its own


def _is_read_only(path: Path) -> bool:
    """Whether it is mounted so that nobody can change its mode here, as secrets in a pod are."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _private(path: Path) -> Finding:
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    wanted, barred = ("700 or 711", _LOOKING) if path.is_dir() else ("600", _PRIVATE)
    remedy = None
    if found.st_uid not in (0, os.geteuid()):
        remedy = f"chown {os.geteuid()} {quote(str(path))}"
    elif mode & barred:
        remedy = f"chmod {mode & ~barred:o} {quote(str(path))}"
    return judged(f"mode of {path}", f"{mode:o}, of user {found.st_uid}", wanted, remedy)


CHECKS: Final[tuple[Check, ...]] = (secret_modes,)
