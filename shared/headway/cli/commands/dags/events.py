"""`headway events`: the journal of who changed what, and why."""

from typing import Annotated

import typer

from headway.cli.screen.output import Format, Output

COLUMNS = ("at", "actor", "action", "dag_id", "run_id", "task_id", "details")


def list_events(
    dag_id: Annotated[str | None, typer.Argument(help="Only changes of this DAG.")] = None,
    run_id: Annotated[str | None, typer.Argument(help="Only changes of this run.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most rows to list.")] = 100,
    output: Output = Format.TABLE,
) -> None:
    """List who changed what and why, the latest change first.

    The events of a deleted DAG or run stay.
    """
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import event_views
    from headway.domain.dag.names import check_run_id

    if run_id is not None:
        check_run_id(run_id)
    with transaction() as conn:
        rows = event_views.events(conn, dag_id, run_id, limit)
    show(rows, COLUMNS, output)
