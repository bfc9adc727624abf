"""Passwords in URLs, kept off git's command line: everybody on the machine can read that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

_USER: Final = "GIT_BUNDLE_USER"
_PASSWORD: Final = "GIT_BUNDLE_PASSWORD"  # noqa: S105 - a name

# The shell prints by itself: no other program has the password as an argument.
_HELPER: Final = (
    '!f() { test "$1" = get && '
    f'printf \'username=%s\\npassword=%s\\n\' "${_USER}" "${_PASSWORD}"; }}; f'
)


@dataclass(frozen=True, slots=True)
class Logins:
    """What git must be given instead of a URL's password: options, and variables."""

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def without_passwords(arguments: Iterable[str]) -> tuple[list[str], Logins]:
    """Take the login out of the one HTTP URL with a password, if there is one; return it apart.

    Git asks for it, as long as it talks to the URL's host, and no helper that keeps
    passwords is asked or told.
    """
    shown: list[str] = []
    logins = Logins()
    for argument in arguments:
        url = _with_password(argument)
        if url is None:
            shown.append(argument)
            continue
        login, _, host = url.netloc.rpartition("@")
        user, _, password = login.partition(":")
        shown.append(urlunsplit(url._replace(netloc=host)))
        key = f"credential.{url.scheme}://{host}.helper"
        logins = Logins(
            (f"{key}=", f"{key}={_HELPER}"),
            {_USER: unquote(user), _PASSWORD: unquote(password)},
        )
    return shown, logins


def _with_password(argument: str) -> SplitResult | None:
    if not argument.lower().startswith(("http://", "https://")):
        return None
    try:
        url = urlsplit(argument)
    except ValueError:  # git will say what is wrong with it
        return None
    return url if ":" in url.netloc.rpartition("@")[0] else None
