"""`headway backfill`: run a DAG over past intervals."""

import sys
from typing import TYPE_CHECKING, TextIO, TypeAlias

import typer

from headway.cli.commands.dags import backfill_control
from headway.cli.input import backfill_options as options
from headway.cli.input.values import Reason, parse_conf
from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output, as_row
from headway.domain.backfill import Direction, Reprocess
from headway.runtime.logs.escaping import visible

if TYPE_CHECKING:
    from headway.actions.backfills.create import BackfillRequest, CreatedBackfill
    from headway.cli.input.session import Transaction
    from headway.db.reads.backfill_views import Hold
    from headway.decide.changes.backfill import PlannedDate

app = typer.Typer(
    help="Backfills: create, list, watch, pause and cancel them.", no_args_is_help=True
)
backfill_control.add_to(app)

When: TypeAlias = tuple[str | None, str | None, list[str] | None]
"""What was typed of a range, or of single dates."""

PLAN_COLUMNS = ("interval_start", "interval_end", "decision", "reason")


@app.command()
def create(  # noqa: PLR0913, PLR0917 - a parameter for each option of the command
    dag_id: str,
    from_date: options.From = None,
    to_date: options.To = None,
    dates: options.Dates = None,
    conf: options.Conf = None,
    reprocess: options.Again = Reprocess.NONE,
    order: options.Order = Direction.FORWARD,
    rollup: options.Rollup = 1,
    max_active_runs: options.Most = None,
    weight: options.Weight = 100,
    idle_only: options.IdleOnly = False,
    version: options.OfWhich = "own",
    dry_run: options.DryRun = False,
    wait: options.Wait = True,
    reason: Reason = None,
    output: Output = Format.TABLE,
) -> None:
    """Run a DAG for every interval that starts in a range of days, and show the progress.

    The exit status is 1 unless all runs succeed.
    """
    from headway.actions.backfills.create import BackfillRequest
    from headway.decide.changes.backfill import Way

    request = BackfillRequest(
        dag_id,
        None,
        None,
        parse_conf(conf),
        max_active_runs,
        way=Way(reprocess, order, rollup),
        weight=weight,
        idle_only=idle_only,
        version=version,
    )
    if dry_run:
        _rehearse(request, (from_date, to_date, dates), output)
    elif not _create(request, (from_date, to_date, dates), reason, (wait, output)):
        raise typer.Exit(ExitStatus.FAILED)


@app.command()
def run(backfill_id: options.Number) -> None:
    """Schedule the remaining runs of a backfill in this process, without the schedulers.

    The runs are reserved for this process. HEADWAY_DATABASE_URL must be a scheduler's.
    """
    from headway.actions.backfills.control import progress_of
    from headway.cli.input.installed import service
    from headway.cli.input.session import database_url, transaction

    with transaction() as conn:
        progress_of(conn, backfill_id)
    raise typer.Exit(service("backfill")(database_url(), backfill_id))


def _create(
    request: "BackfillRequest", when: When, reason: str | None, how: tuple[bool, Format]
) -> bool:
    """Create a backfill; return whether it went well, if that is waited for.

    `how` says whether to wait, and how to show what was made: where that is JSON, the progress
    is told on stderr, and the document comes in the end.
    """
    from headway.actions.backfills.create import create_backfill
    from headway.actions.runs.version_choice import LATEST
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.cli.screen import hints
    from headway.db.core.server import now
    from headway.db.reads import backfill_views

    def work(conn: "Transaction") -> "tuple[CreatedBackfill, Hold | None]":
        made = create_backfill(conn, _at(conn, request, when), now(conn), actor(), reason)
        return made, backfill_views.hold(conn, made.id)

    backfill, hold = act(work)
    lines = [told(request.dag_id, backfill, latest=request.version == LATEST)]
    held = None if hold is None or hold.why is None else hints.told(hold.why)
    if held is not None:
        lines.append(held)
    wait, output = how
    target = sys.stderr if output is Format.JSON else sys.stdout
    print(*map(visible, lines), sep="\n", file=target, flush=True)
    went_well = not wait or _watched(backfill.id, target)
    if output is Format.JSON:
        _show_made(backfill, held)
    return went_well


def _watched(backfill_id: int, target: TextIO) -> bool:
    from headway.cli.screen.watch_backfill import watch_backfill

    return watch_backfill(backfill_id, target=target).state == "success"


def _show_made(made: "CreatedBackfill", held: str | None) -> None:
    from headway.actions.backfills.control import progress_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show as render

    with transaction() as conn:
        progress = progress_of(conn, made.id)
    row = {**backfill_control.row_of(progress), **as_row(made), "held": held}
    render([row], (), Format.JSON)


def _rehearse(request: "BackfillRequest", when: When, output: Format) -> None:
    from headway.actions.backfills.create import plan
    from headway.cli.input.session import transaction
    from headway.db.core.server import now

    with transaction() as conn:
        dates = plan(conn, _at(conn, request, when), now(conn))
    _show(dates, output)


def _at(conn: "Transaction", request: "BackfillRequest", when: When) -> "BackfillRequest":
    """Return the request with the dates that were typed, in the zone of its DAG."""
    from dataclasses import replace

    from headway.actions.lookup import current_dag
    from headway.cli.input.values import parse_date

    zone = current_dag(conn, request.dag_id).spec.timezone
    first, last = (text and parse_date(text, zone) for text in when[:2])
    dates = [parse_date(text, zone) for text in when[2] or ()]
    return replace(request, from_date=first or None, to_date=last or None, dates=dates)


def told(dag_id: str, it: "CreatedBackfill", *, latest: bool) -> str:
    """Return what a backfill consists of, in a sentence.

    With `latest`, runs that run again have the version of the new ones.
    """
    own = "its own version" if it.rerun == 1 else "their own versions"
    again = f"version {it.version}" if latest else own
    parts = (
        it.created and f"{_counted(it.created, 'run')} with version {it.version}",
        it.rerun and f"{_counted(it.rerun, 'earlier run')} again with {again}",
        it.existing and f"{_counted(it.existing, 'date')} left alone",
        it.conflicts
        and f"{_counted(it.conflicts, 'date')} in conflict with a run, as "
        f"`headway backfill show {it.id} --dates` tells",
        it.early
        and f"{_counted(it.early, 'date')} before the start_date, where the schedule has none",
    )
    return f"Backfill {it.id} of {dag_id}: {'; '.join(part for part in parts if part)}."


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _show(dates: "list[PlannedDate]", output: Format) -> None:
    from headway.cli.screen.output import show as render

    rows = []
    for date in dates:
        its = date.created.data_interval if date.created else None
        rows.append(
            {
                "interval_start": date.info.data_interval.start,
                "interval_end": date.info.data_interval.end,
                "schedule_date": date.info.run_after,
                "decision": str(date.decision),
                "reason": date.reason,
                "run_id": date.existing and date.existing.run_id,
                "run_interval": its and [its.start, its.end],
            }
        )
    render(rows, PLAN_COLUMNS, output)
