"""`headway deadlines`: by when runs and tasks are to have ended, and which have not."""

from typing import Annotated

import typer

from headway.cli.screen.output import Format, Output
from headway.domain.states import DeadlineState

app = typer.Typer(
    help="Deadlines of runs and tasks: list open, met and missed deadlines.",
    no_args_is_help=True,
)

COLUMNS = ("dag_id", "run_id", "task_id", "deadline", "due_at", "state", "ended_at", "judged_at")


@app.callback()
def deadlines() -> None:
    """Keep the name of the one command: `headway deadlines list`."""


@app.command("list")
def list_deadlines(
    dag_id: Annotated[str | None, typer.Argument(help="Only those of this DAG.")] = None,
    run_id: Annotated[str | None, typer.Argument(help="Only those of this run.")] = None,
    state: Annotated[DeadlineState | None, typer.Option(help="Only those in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most rows to list.")] = 100,
    output: Output = Format.TABLE,
) -> None:
    """List deadlines, those of the latest runs first. A deadline of a run has no task."""
    from headway.actions.lookup import check_named
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import deadline_views

    with transaction() as conn:
        rows = deadline_views.deadlines(conn, dag_id, run_id, state, limit)
        if not rows:
            check_named(conn, dag_id, run_id)
    show(rows, COLUMNS, output)
