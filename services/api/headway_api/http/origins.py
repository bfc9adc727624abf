"""Which requests a browser may send: by the host it believes to talk to, and by who asks."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_TRUSTED: Final = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site: the own page, and the user's address bar."""


def host_name(header: str) -> str:
    """Return the name in a Host header: without its port, in small letters, without brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_allowed(header: str, allowed: Sequence[str]) -> bool:
    """Tell whether a Host header names an allowed host; `*.example.com` is all names below."""
    name = host_name(header)
    return bool(name) and any(_matches(name, pattern.lower()) for pattern in allowed)


def may_change(
    method: str, host: str, site: str | None, origin: str | None, *, by_cookie: bool
) -> bool:
    """Tell whether a request may change something, going by where a browser says that it is from.

    Only requests that a cookie authenticates can be another site's doing.  `site` is the header
    Sec-Fetch-Site, `origin` the header Origin: a browser that sends neither sends no such request.
    """
    if method in SAFE or not by_cookie:
        return True
    if site is not None:
        return site in _TRUSTED
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern.strip("[]")
