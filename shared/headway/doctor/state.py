"""Checks of local state: the home, and who may read the secrets in it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from headway.doctor.finding import Check, Examined, Finding, judged
from headway.domain.errors import SettingsError
from headway.runtime.settings.private_files import is_read_only, private_paths, surplus


def secret_modes(subject: Examined) -> Iterator[Finding]:
    """Look at who may read the files in which secrets are."""
    for path in dict.fromkeys(_with_secrets(subject.home)):
        try:
            if path.exists() and not is_read_only(path):
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


def _with_secrets(home: Path) -> Iterator[Path]:
    try:
        yield from private_paths(home)
    except SettingsError:
        return  # it is a finding of its own


def _private(path: Path) -> Finding:
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    wanted = "700 or 711" if path.is_dir() else "600"
    remedy = None
    if found.st_uid not in (0, os.geteuid()):
        remedy = f"chown {os.geteuid()} {quote(str(path))}"
    elif surplus(found.st_mode):
        remedy = f"chmod {mode & ~surplus(found.st_mode):o} {quote(str(path))}"
    return judged(f"mode of {path}", f"{mode:o}, of user {found.st_uid}", wanted, remedy)


CHECKS: Final[tuple[Check, ...]] = (secret_modes,)
