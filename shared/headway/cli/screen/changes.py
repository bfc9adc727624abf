"""Say what was changed in a run, in one sentence."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from headway.actions.sentences import told
from headway.cli.screen.output import Format, as_row, tell
from headway.domain.states import UNFINISHED_RUN

_LATEST: Final = " (--version latest takes that)"

if TYPE_CHECKING:
    from headway.actions.change import Author, RunChange
    from headway.cli.input.session import Transaction
    from headway.domain.hints import Hint


def author(reason: str | None) -> "Author":
    """Return who is using the command, with the reason that was given."""
    from headway.actions.change import Author
    from headway.cli.input.session import actor

    return Author(actor(), reason)


def change(
    work: "Callable[[Transaction], RunChange]",
    *,
    where: tuple[str, str],
    yes: bool,
    output: Format = Format.TABLE,
) -> None:
    """Change the run `where` (DAG and run id) and say how; ask before, unless `yes`."""
    from headway.actions.change import held_by_dag
    from headway.cli.input.acting import act, ask, rehearse
    from headway.cli.screen import hints

    dag_id, run_id = where
    if not yes:
        would = rehearse(work)
        if would:
            ask(f"This would change run {run_id} of {dag_id}: {told(would, _LATEST)}.")

    def do(conn: "Transaction") -> "tuple[RunChange, Hint | None]":
        done = work(conn)
        goes_on = not done.ends and done.run in UNFINISHED_RUN
        return done, held_by_dag(conn, dag_id) if goes_on else None

    done, holding = act(do)
    held = None if holding is None else hints.told(holding)
    row = {"dag_id": dag_id, "run_id": run_id, **_fields(done), "held": held}
    lines = [f"Run {run_id} of {dag_id}: {told(done, _LATEST)}.", held]
    tell("\n".join(filter(None, lines)), row, output)


def _fields(done: "RunChange") -> dict[str, object]:
    """Return what was done, for a program."""
    from dataclasses import replace

    # A Counter cannot be copied as a field.
    return as_row(replace(done, moved=dict(done.moved), stopping=dict(done.stopping)))
