"""Durations that a schedule is made of."""

from datetime import timedelta

from headway.domain.errors import TimetableError


def check_duration(what: str, value: object) -> None:
    """Raise TimetableError unless `value` is a positive timedelta; `what` names it."""
    if not isinstance(value, timedelta):
        raise TimetableError(
            f"{what} must be a timedelta, for example timedelta(hours=6); not {value!r}."
        )
    if value <= timedelta(0):
        raise TimetableError(f"{what} must be longer than zero; it is {value}.")
