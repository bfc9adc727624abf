"""`headway backfill list`, `show`, `watch`, `pause`, `resume`, `cancel`: those that there are."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.input.backfill_options import Number
from headway.cli.input.values import Reason, Yes
from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output, as_row, tell
from headway.runtime.logs.escaping import say

if TYPE_CHECKING:
    from headway.actions.backfills.control import CancelledBackfill
    from headway.cli.input.session import Transaction
    from headway.db.reads.backfill_views import BackfillProgress

COLUMNS = ("id", "dag_id", "state", "from_date", "to_date", "runs", "succeeded", "failed")
DATE_COLUMNS = ("interval_start", "interval_end", "decision", "state", "run_id", "reason")


def add_to(app: typer.Typer) -> None:
    """Give an app these commands."""
    app.command("list")(list_all)
    for command in (show, watch, pause, resume, cancel):
        app.command()(command)


def list_all(
    dag_id: Annotated[str | None, typer.Option("--dag", help="Only backfills of this DAG.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=10_000, help="The most rows to show.")
    ] = 20,
    output: Output = Format.TABLE,
) -> None:
    """List the latest backfills with their progress."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show as render
    from headway.db.reads import backfill_views

    with transaction() as conn:
        found = backfill_views.latest(conn, limit, dag_id)
    rows = [row_of(progress) for progress in found]
    uncounted = [{name: row[name] for name in row if not name.startswith("tasks")} for row in rows]
    render(uncounted, COLUMNS, output)


def show(
    backfill_id: Number,
    dates: Annotated[bool, typer.Option("--dates", help="Show the plan, date by date.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Show the progress of a backfill, or what happens to each of its dates."""
    from headway.actions.backfills.control import progress_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show as render
    from headway.db.reads import backfill_views

    with transaction() as conn:
        progress = progress_of(conn, backfill_id)
        plan = backfill_views.dates(conn, backfill_id) if dates else []
    if dates:
        render(plan, DATE_COLUMNS, output)
    else:
        render([row_of(progress)], COLUMNS, output)


def watch(backfill_id: Number) -> None:
    """Show the progress of a backfill until all its runs have ended.

    The exit status is 1 if a run fails, or if the backfill is cancelled.
    """
    from headway.actions.backfills.control import progress_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.hints import told
    from headway.cli.screen.watch_backfill import watch_backfill
    from headway.db.reads import backfill_views

    with transaction() as conn:
        ended = progress_of(conn, backfill_id).finished
        hold = None if ended else backfill_views.hold(conn, backfill_id)
    if hold is not None and hold.why is not None:
        say(told(hold.why))
    if watch_backfill(backfill_id).state != "success":
        raise typer.Exit(ExitStatus.FAILED)


def pause(backfill_id: Number, reason: Reason = None, output: Output = Format.TABLE) -> None:
    """Start no more runs of a backfill; running runs continue to their ends."""
    _set_paused(backfill_id, reason, output, paused=True)


def resume(backfill_id: Number, reason: Reason = None, output: Output = Format.TABLE) -> None:
    """Let a paused backfill continue."""
    _set_paused(backfill_id, reason, output, paused=False)


def cancel(
    backfill_id: Number, reason: Reason = None, yes: Yes = False, output: Output = Format.TABLE
) -> None:
    """End a backfill: runs that have not begun are deleted, other unfinished runs are cancelled."""
    from headway.actions.backfills.control import cancel_backfill
    from headway.actions.change import Author
    from headway.cli.input.acting import act, ask, rehearse
    from headway.cli.input.session import actor
    from headway.decide.explain.wording import counted

    author = Author(actor(), reason)

    def work(conn: "Transaction") -> "CancelledBackfill":
        return cancel_backfill(conn, backfill_id, author)

    if not yes:
        would = rehearse(work)
        ask(
            f"Backfill {backfill_id} will be cancelled: {counted(would.dropped, 'run')} not "
            f"begun deleted, {counted(would.ended, 'run')} ended."
        )
    done = act(work)
    said = (
        f"Backfill {backfill_id} is cancelled. Runs that had not begun and are deleted: "
        f"{done.dropped}; that are ended: {done.ended}."
    )
    if done.skipped:
        said += (
            f"\nThe schedule skipped {done.skipped} of their intervals: "
            "only another backfill runs these."
        )
    tell(said, {"id": backfill_id, **as_row(done)}, output)


def _set_paused(backfill_id: int, reason: str | None, output: Format, *, paused: bool) -> None:
    from headway.actions.backfills.control import set_backfill_paused
    from headway.actions.change import Author
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor

    author = Author(actor(), reason)
    changed = act(lambda conn: set_backfill_paused(conn, backfill_id, author, paused=paused))
    state = "paused" if paused else "running"
    row = {"id": backfill_id, "paused": paused, "changed": changed}
    tell(f"Backfill {backfill_id} is {state}{'' if changed else ' already'}.", row, output)


def row_of(progress: "BackfillProgress") -> dict[str, object]:
    """Return how far a backfill has come, for a table or as JSON."""
    return {**as_row(progress), "runs": progress.planned, "state": progress.state}
