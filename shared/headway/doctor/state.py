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


def secret_modes(_subject: Subject) -> Iterator[Finding]:
    """Look at who may read the files in which secrets are."""
    for path in dict.fromkeys(_with_secrets()):
        if path.exists():
            yield _private(path)


def _with_secrets() -> Iterator[Path]:
    home, settings_file = configuration.private_paths()
    yield from (home, settings_file, home / "database-url", home / secret_settings.KEYS_FILE)
    try:
        yield from secret_settings.private_paths()
    except SettingsError:
        return  # it is a finding of its own


def _private(path: Path) -> Finding:
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    wanted = 0o700 if path.is_dir() else 0o600
    remedy = None
    if found.st_uid not in (0, os.geteuid()):
        remedy = f"chown {os.geteuid()} {quote(str(path))}"
    elif mode & _PRIVATE:
        remedy = f"chmod {mode & ~_PRIVATE:o} {quote(str(path))}"
    return judged(f"mode of {path}", f"{mode:o}, of user {found.st_uid}", f"{wanted:o}", remedy)


CHECKS: Final[tuple[Check, ...]] = (secret_modes,)
