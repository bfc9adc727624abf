"""`headway notifications`: the messages about what has happened, and their logs."""

from typing import Annotated

import typer

from headway.cli.screen.output import Format, Output
from headway.domain.states import CallbackState

app = typer.Typer(
    help="Notifications: list the messages about events, and read their logs.",
    no_args_is_help=True,
)

COLUMNS = (
    "notification",
    "dag_id",
    "run_id",
    "event",
    "events",
    "connection",
    "state",
    "tries",
    "due_at",
    "ended_at",
    "error",
)


@app.command("list")
def list_notifications(
    dag_id: Annotated[str | None, typer.Argument(help="Only those of this DAG.")] = None,
    run_id: Annotated[str | None, typer.Argument(help="Only those of this run.")] = None,
    state: Annotated[CallbackState | None, typer.Option(help="Only those in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most rows to list.")] = 100,
    output: Output = Format.TABLE,
) -> None:
    """List notifications, the latest first; `events` is the number of events in the message."""
    from headway.actions.lookup import check_named
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import notification_views

    with transaction() as conn:
        rows = notification_views.notifications(conn, dag_id, run_id, state, limit)
        if not rows:
            check_named(conn, dag_id, run_id)
    show(rows, COLUMNS, output)


@app.command()
def logs(
    notification: Annotated[
        int, typer.Argument(help="The notification's number in `headway notifications list`.")
    ],
) -> None:
    """Print the logs of a notification's tries, from this machine or from the log store."""
    from headway.actions.lookup import notification_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.task_logs import print_whole
    from headway.domain.dag.notifiers import MOST_SENDS
    from headway.runtime.logs.paths import CallbackLogKey

    with transaction() as conn:
        found = notification_of(conn, notification)
    keys = [
        CallbackLogKey(found.dag_id, found.run_id, notification, number, "notification")
        for number in range(1, MOST_SENDS + 1)
    ]
    what = f"notification {notification}, which is {found.state},"
    print_whole([key.relative for key in keys], what, raw=False)
