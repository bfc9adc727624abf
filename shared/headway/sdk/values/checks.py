"""Checks of the values that a DAG file passes.

A check takes a value and the place where it was passed, and returns the value in
its stored form, or raises a DagError that names the place.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from reprlib import Repr
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeAlias, TypeGuard

from headway.domain.dag.names import LONGEST_NAME, check_key
from headway.domain.errors import DagError

Check: TypeAlias = Callable[[object, str], Any]

_BRIEF: Final = Repr()
_BRIEF.maxstring = _BRIEF.maxother = LONGEST_NAME

LARGEST: Final = 2**31 - 1
"""The largest whole number that the database stores in these columns."""


def refuse(where: str, wanted: str, value: object) -> NoReturn:
    """Raise the error of a value that is not what was wanted."""
    raise DagError(f"{where} must be {wanted}, not {shown(value)}.")


def shown(value: object) -> str:
    """Return how messages show a value: shortened when it is long."""
    return _BRIEF.repr(value)


def whole(least: int) -> Check:
    """Make the check of a whole number that is not below `least`."""

    def check(value: object, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
            refuse(where, f"a whole number from {least} to {LARGEST}", value)
        return value

    return check


def optional(check: Check) -> Check:
    """Make a check that accepts None as well."""
    return lambda value, where: None if value is None else check(value, where)


def flag(value: object, where: str) -> bool:
    """Accept True and False."""
    if not isinstance(value, bool):
        refuse(where, "True or False", value)
    return value


def text(value: object, where: str) -> str:
    """Accept text that the database can store."""
    if not isinstance(value, str):
        refuse(where, "a string", value)
    if "\0" in value:
        raise DagError(f"{where} holds a NUL character, which cannot be stored; remove it.")
    return value


def key(kind: str) -> Check:
    """Make the check of the name of a `kind`, such as a pool."""

    def check(value: object, where: str) -> str:
        try:
            return check_key(kind, value)
        except DagError as error:
            raise DagError(f"{where}: {error}") from None

    return check


def choice(kind: type[StrEnum]) -> Check:
    """Make the check of a value that must be one of an enumeration."""

    def check(value: object, where: str) -> StrEnum:
        try:
            return kind(str(value))
        except ValueError:
            refuse(where, f"one of {', '.join(kind)}", value)

    return check


def duration(value: object, where: str) -> timedelta:
    """Accept a timedelta, or a number of seconds, that is not negative."""
    wanted = "a timedelta or a number of seconds, and not negative"
    if isinstance(value, bool) or not isinstance(value, timedelta | int | float):
        refuse(where, wanted, value)
    try:
        length = value if isinstance(value, timedelta) else timedelta(seconds=value)
    except (OverflowError, ValueError):
        refuse(where, wanted, value)
    if length < timedelta(0):
        refuse(where, wanted, value)
    return length


def time_limit(value: object, where: str) -> timedelta:
    """Accept a duration that is longer than nothing."""
    limit = duration(value, where)
    if not limit:
        refuse(where, "longer than 0 seconds", value)
    return limit


def in_seconds(check: Check) -> Check:
    """Make a check of a duration return it as a number of seconds."""
    return lambda value, where: check(value, where).total_seconds()


def instant(value: object, where: str) -> datetime:
    """Accept a date and time with a time zone; return it in UTC.

    In a fold a local one equals no other, and sums forget which of two it is.
    """
    advice = 'write pendulum.datetime(2013, 1, 1, tz="America/New_York")'
    if not isinstance(value, datetime):
        refuse(where, f"a datetime with a time zone ({advice})", value)
    if value.tzinfo is None:
        raise DagError(f"{where} is {value}, which has no time zone; {advice}.")
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        raise DagError(f"{where} is {value}, beyond the years 1 to 9999 in UTC.") from None
    return datetime.combine(moment.date(), moment.time(), UTC)  # pendulum's sums would be naive


def date_of_schedule(value: object, where: str) -> datetime:
    """Accept a date and time as `instant` does; one without a time zone is in UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return instant(value, where)


def texts(value: object, where: str) -> tuple[str, ...]:
    """Accept a collection of strings; return them sorted, each once."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        refuse(where, "a list of strings", value)
    return tuple(sorted({text(item, where) for item in value}))


def mapping(value: object, where: str) -> dict[str, Any]:
    """Accept a dictionary with string keys."""
    if not has_names(value):
        refuse(where, "a dictionary with string keys", value)
    return dict(value)


def has_names(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a value is a dictionary with string keys."""
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def known(
    names: Iterable[str],
    accepted: Collection[str],
    where: str,
    refused: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Refuse the first of `names` that is not accepted, and show what was probably meant.

    `refused` says of names that Airflow has and Headway has not what to write instead.
    """
    for name in names:
        if name not in accepted:
            if name in refused:
                raise DagError(f"{where}: {refused[name]}")
            known = sorted(accepted)
            near = get_close_matches(name, known)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}."
            raise DagError(f"{where} does not know the argument {name!r}; {hint}")
