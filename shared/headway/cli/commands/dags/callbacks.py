"""`headway callbacks`: the calls of DAGs' own functions for what has happened, and their logs."""

from typing import Annotated

import typer

from headway.cli.screen.output import Format, Output
from headway.domain.states import CallbackState

app = typer.Typer(
    help="Callbacks: list the calls of DAGs' functions, and read their logs.", no_args_is_help=True
)

COLUMNS = (
    "callback",
    "dag_id",
    "run_id",
    "task_id",
    "map_index",
    "attempt",
    "event",
    "reason",
    "state",
    "tries",
    "ended_at",
    "error",
)


@app.command("list")
def list_callbacks(
    dag_id: Annotated[str | None, typer.Argument(help="Only those of this DAG.")] = None,
    run_id: Annotated[str | None, typer.Argument(help="Only those of this run.")] = None,
    state: Annotated[CallbackState | None, typer.Option(help="Only those in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most rows to list.")] = 100,
    output: Output = Format.TABLE,
) -> None:
    """List callbacks, the latest first. A callback of a run has no task."""
    from headway.actions.lookup import check_named
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import callback_views

    with transaction() as conn:
        rows = callback_views.callbacks(conn, dag_id, run_id, state, limit)
        if not rows:
            check_named(conn, dag_id, run_id)
    show(rows, COLUMNS, output)


@app.command()
def logs(
    callback: Annotated[
        int, typer.Argument(help="The callback's number in `headway callbacks list`.")
    ],
) -> None:
    """Print the logs of a callback's tries, from this machine or from the log store."""
    from headway.actions.lookup import callback_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.task_logs import print_whole
    from headway.domain.dag.callbacks import MOST_TRIES
    from headway.runtime.logs.paths import CallbackLogKey

    with transaction() as conn:
        found = callback_of(conn, callback)
    tries = range(1, MOST_TRIES + 1)
    keys = [CallbackLogKey(found.dag_id, found.run_id, callback, number) for number in tries]
    logs = [log for key in keys for log in (key.relative, key.former)]
    print_whole(logs, f"callback {callback}, which is {found.state},", raw=False)
