"""`headway timetable`: when a timetable would run a DAG, before there is one."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headway.cli.screen.output import Format, Output

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from headway.domain.interval import DataInterval
    from headway.timetables.preview import Coming

app = typer.Typer(help="Timetables: show when they run.", no_args_is_help=True)

COLUMNS: Final = (
    "run_after", "run_local", "ds", "interval_start", "interval_end", "interval_local", "notes",
)  # fmt: skip
FEW: Final = 20
MOST: Final = 10_000
"""Runs that are shown at most where nobody asks for more."""

Expression = Annotated[
    str,
    typer.Argument(
        metavar="EXPR",
        help="A cron string, a preset, an ISO 8601 duration such as PT6H, or timetables as in "
        'a DAG file: \'CronTimetable("0 9 * * *") & Workdays("US")\'. Write -- before it if it '
        "begins with a dash.",
    ),
]


@app.callback()
def timetable() -> None:
    """See when timetables run."""


@app.command()
def preview(
    expression: Expression,
    zone: Annotated[str, typer.Option("--tz", help="The time zone, such as Europe/Paris.")] = "UTC",
    from_date: Annotated[
        str | None, typer.Option("--from", help="The start_date; default: now.")
    ] = None,
    to_date: Annotated[
        str | None, typer.Option("--to", help="The end_date: the latest start of an interval.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help=f"Runs; default: {FEW}, with --to {MOST:,}."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Show the runs of a timetable.

    Notes mark gaps and folds of the clocks, and skipped days.
    """
    from headway.timetables import expression as expressions
    from headway.timetables.base import TimeRestriction
    from headway.timetables.preview import coming, why_no_more
    from headway.timetables.sequence import known, runs_on
    from headway.timetables.wall_clock.zones import find_zone

    found, local = expressions.read(expression, zone), find_zone(zone)
    first, last = _dates(from_date, to_date, zone)
    most = limit or (FEW if last is None else MOST)
    bounds = TimeRestriction(first, last, catchup=True)
    runs = runs_on(found, found.next_dagrun_info(None, bounds, first), bounds, first)
    ahead = coming(known(found, runs), local)
    shown = list(islice(ahead, most))
    show_coming(shown, zone, output)
    if len(shown) < most and (why := why_no_more(found, shown, bounds, first)):
        typer.echo(why, err=True)
    if last is not None and limit is None and next(ahead, None) is not None:
        typer.echo(f"These are the first {most:,} runs; pass -n for more of them.", err=True)


def _dates(
    from_date: str | None, to_date: str | None, zone: str
) -> "tuple[datetime, datetime | None]":
    from headway.cli.input.session import now
    from headway.cli.input.values import parse_date
    from headway.domain.errors import RequestError

    first = now() if from_date is None else parse_date(from_date, zone)
    last = None if to_date is None else parse_date(to_date, zone)
    if last is not None and last < first:
        raise RequestError(f"--to ({to_date}) is before --from ({from_date or 'now'}); swap them.")
    return first, last


def show_coming(runs: Sequence["Coming"], zone: str, output: Format) -> None:
    """Print runs to come: a table in UTC and in the zone, or JSON in UTC."""
    from headway.cli.screen.output import show

    show(_plain(runs) if output is Format.JSON else _told(runs, zone), COLUMNS, output)


def _plain(runs: Iterable["Coming"]) -> Iterable[dict[str, object]]:
    for run in runs:
        interval = run.info.data_interval
        yield {
            "run_after": run.info.run_after,
            "ds": f"{interval.start:%F}",
            "data_interval_start": interval.start,
            "data_interval_end": interval.end,
            "notes": list(run.notes),
        }


def _told(runs: Iterable["Coming"], zone: str) -> Iterable[dict[str, object]]:
    from headway.timetables.wall_clock.zones import find_zone

    local = find_zone(zone)
    for run in runs:
        interval = run.info.data_interval
        yield {
            "run_after": run.info.run_after,
            "run_local": f"{run.info.run_after.astimezone(local):%a %F %T %Z}",
            "ds": f"{interval.start:%F}",
            "interval_start": interval.start,
            "interval_end": interval.end,
            "interval_local": _clocks(interval, local),
            "notes": "; ".join(run.notes) or None,
        }


def _clocks(interval: "DataInterval", zone: "ZoneInfo") -> str:
    """Return what clocks show from the start to the end of an interval."""
    start, end = interval.start.astimezone(zone), interval.end.astimezone(zone)
    if interval.start == interval.end:
        return f"{start:%F %T}"
    form = "%F %T" if start.utcoffset() == end.utcoffset() else "%F %T %Z"
    return f"{start.strftime(form)} to {end.strftime(form)}"
