"""What users type: dates, JSON, and the options that changes to runs and tasks share."""

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headway.domain.errors import RequestError

if TYPE_CHECKING:
    from headway.domain.interval import DataInterval

_AGE: Final = re.compile(r"(\d+(?:\.\d+)?)([hdw])")
_SECONDS: Final = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}

Reason = Annotated[str | None, typer.Option("--reason", help="The reason, for the journal.")]
Version = Annotated[
    str,
    typer.Option(
        "--version",
        help="The version to run with: own (the run's version), latest (the "
        "version in force), or a number.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def parse_age(given: str | float) -> float:
    """Return how many seconds an age like 30d is; BadParameter for what is none."""
    if isinstance(given, float):  # typer parses a default, and what is parsed, once more
        return given
    found = _AGE.fullmatch(given.strip())
    if found is None:
        raise typer.BadParameter(f"{given!r} is no age; write one like 30d, 8w or 36h.")
    return float(found[1]) * _SECONDS[found[2]]


Age = Annotated[
    float,
    typer.Option(
        "--older-than",
        metavar="AGE",
        parser=parse_age,
        help="Only rows that ended longer ago than this: 30d, 8w, 36h; at least 1d.",
    ),
]


def parse_date(text: str, zone: str) -> datetime:
    """Return the instant of the date or time that `text` tells, in `zone` unless it names its own.

    It is in UTC.  A time that comes twice there is the first of both; one that is skipped is
    the end of the gap, as in a timetable.
    """
    from headway.timetables.wall_clock.zones import find_zone, first_at

    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else first_at(moment, find_zone(zone))
    except ValueError:
        raise RequestError(
            f"{text!r} is no date; write one like 2013-01-31 or 2013-01-31T06:00:00+00:00."
        ) from None
    except OverflowError:
        raise RequestError(
            f"{text!r} is beyond the years 1 to 9999 in UTC; give another."
        ) from None


def parse_interval(texts: tuple[str, str], zone: str) -> "DataInterval":
    """Return the data interval from one date or time to another, in `zone`."""
    from headway.domain.interval import DataInterval

    start, end = (parse_date(text, zone) for text in texts)
    if end <= start:
        raise RequestError(f"An interval cannot end ({texts[1]}) by when it starts ({texts[0]}).")
    return DataInterval(start, end)


def parse_conf(text: str | None) -> dict[str, Any]:
    """Return the run configuration that `text` holds as a JSON object."""
    from headway.domain.arguments import encode_argument

    if text is None:
        return {}
    try:
        conf = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(
            f"The conf is no JSON ({error}); write it like '{{\"key\": 1}}'."
        ) from None
    if not isinstance(conf, dict):
        raise RequestError("The conf must be a JSON object, like '{\"key\": 1}'.")
    encode_argument(conf, "The conf")  # raises for what JSON has and a task could not be given
    return conf
