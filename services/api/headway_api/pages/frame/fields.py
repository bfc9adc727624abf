"""Read what people typed into forms; RequestError says what is wrong, and what is meant."""

import json
from datetime import datetime
from typing import Final

from headway.domain.arguments import JsonValue
from headway.domain.errors import RequestError
from headway.timetables.wall_clock.zones import find_zone, first_at

_LARGEST: Final = 2**31 - 1
_DIGITS: Final = 10


def json_object(text: str, name: str) -> dict[str, JsonValue]:
    """Return the JSON object of a field; an empty one if nothing was typed."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise RequestError(f"The {name} is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise RequestError(f'The {name} is a JSON object, such as {{"limit": 10}}.')
    return found


def date(text: str, zone: str = "UTC") -> datetime | None:
    """Return the date; one that names no zone is in `zone`, as the page says.  None for none."""
    if not text.strip():
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return found if found.tzinfo is not None else first_at(found, find_zone(zone))
    except (ValueError, OverflowError) as error:
        raise RequestError(f"{text!r} is no date, such as 2024-05-01T06:00.") from error


def number(text: str, name: str) -> int | None:
    """Return the whole number of a field; None if nothing was typed."""
    text = text.strip()
    if not text:
        return None
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    if not is_number or int(text) > _LARGEST:
        raise RequestError(f"{name} is a whole number, not {text!r}.")
    return int(text)


def names(text: str) -> list[str]:
    """Return the names of a field that are separated by commas or spaces."""
    return text.replace(",", " ").split()
