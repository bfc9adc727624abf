"""What users type: dates, JSON, and the options that changes to runs and tasks share."""

import json
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from headway.domain.arguments import encode_argument
from headway.domain.errors import DagError

Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the journal.")]
Version = Annotated[
    str,
    typer.Option(
        "--version",
        help="The version to run with: the run's own, the latest, which is in force, or a number.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def parse_date(text: str, zone: str) -> datetime:
    """Return the date or time that `text` tells, in `zone` unless it names its own."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise DagError(
            f"{text!r} is no date; write one like 2013-01-31 or 2013-01-31T06:00:00+00:00."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))


def parse_conf(text: str | None) -> dict[str, Any]:
    """Return the run configuration that `text` holds as a JSON object."""
    if text is None:
        return {}
    try:
        conf = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DagError(f"The conf is no JSON ({error}); write it like '{{\"key\": 1}}'.") from None
    if not isinstance(conf, dict):
        raise DagError("The conf must be a JSON object, like '{\"key\": 1}'.")
    encode_argument(conf, "The conf")  # raises for what JSON has and a task could not be given
    return conf
