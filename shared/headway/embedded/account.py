"""The account that Postgres runs as: it refuses root, and a uid without a name."""

import os
import pwd
from pathlib import Path
from typing import Final

from headway.domain.errors import EmbeddedError

_FOR_ROOT: Final = ("postgres", "nobody")


def server_account(data: Path) -> str | None:
    """Return the account to change to before Postgres is started; None to stay as we are.

    Only root changes: to the owner of existing `data`, else to the first account of a
    short list that this machine has.
    """
    uid = os.geteuid()
    if uid != 0:
        _require_name(uid)
        return None
    candidates = (_owner(data), *(_find(name) for name in _FOR_ROOT))
    for account in candidates:
        if account is not None and account.pw_uid != 0:
            return account.pw_name
    raise EmbeddedError(
        "Postgres does not run as root, and this machine has neither an account `postgres` "
        "nor `nobody` to run it as. Add one, or set HEADWAY_DATABASE_URL to a server of yours."
    )


def give(path: Path, account: str | None) -> None:
    """Make `account` the owner of `path`."""
    if account is not None:
        owner = pwd.getpwnam(account)
        os.chown(path, owner.pw_uid, owner.pw_gid)


def _require_name(uid: int) -> None:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedError(
            f"Postgres does not run under a user id without a name, and {uid} has no entry in "
            "/etc/passwd. Add one, or set HEADWAY_DATABASE_URL to a server of yours."
        ) from None


def _owner(path: Path) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(path.stat().st_uid)
    except (OSError, KeyError):
        return None


def _find(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None
