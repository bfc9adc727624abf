"""The formats that text may be asked to have."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any, Final
from urllib.parse import urlsplit

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIME: Final = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")
_MOMENT: Final = re.compile(rf"{_DATE.pattern}[T ]{_TIME.pattern}", re.IGNORECASE)
_DURATION: Final = re.compile(
    r"P(?=.)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)"
)
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_UUID: Final = re.compile(r"[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}", re.IGNORECASE)


def _reads(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except (ValueError, AddressValueError):
        return False
    return True


def _is_moment(text: str) -> bool:
    if not _MOMENT.fullmatch(text) or not _reads(datetime.fromisoformat, text.upper()):
        return False
    return datetime.fromisoformat(text.upper()).tzinfo is not None


def _is_uri(text: str) -> bool:
    if not _reads(urlsplit, text) or any(letter.isspace() for letter in text):
        return False
    parts = urlsplit(text)
    return bool(parts.scheme and (parts.netloc or parts.path))


FORMATS: Final[Mapping[str, tuple[str, Callable[[str], bool]]]] = {
    "date": (
        "a date such as 2024-05-01",
        lambda text: bool(_DATE.fullmatch(text)) and _reads(date.fromisoformat, text),
    ),
    "date-time": ("a date and time with a zone, such as 2024-05-01T06:00:00+00:00", _is_moment),
    "time": (
        "a time such as 06:30:00",
        lambda text: bool(_TIME.fullmatch(text)) and _reads(time.fromisoformat, text),
    ),
    "duration": (
        "a duration of ISO 8601 such as PT15M",
        lambda text: bool(_DURATION.fullmatch(text)),
    ),
    "email": ("a mail address", lambda text: bool(_EMAIL.fullmatch(text))),
    "ipv4": ("an IPv4 address", lambda text: _reads(IPv4Address, text)),
    "ipv6": ("an IPv6 address", lambda text: _reads(IPv6Address, text)),
    "uri": ("a URI such as https://example.org/a", _is_uri),
    "uuid": ("a UUID", lambda text: bool(_UUID.fullmatch(text))),
    "multiline": ("text", lambda _: True),
}
"""What a text of each format is, in words, and whether one is; `multiline` is about its field."""
