"""`headway dags next`: when a DAG runs."""

from typing import Annotated

import typer

from headway.cli.commands.dags.timetable import FEW, MOST, show_coming
from headway.cli.screen.output import Format, Output


def next_runs(
    dag_id: str,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MOST, help="The most rows to show.")
    ] = FEW,
    output: Output = Format.TABLE,
) -> None:
    """Show the next runs of a DAG's schedule: due runs and future runs.

    It continues from the last scheduled or skipped interval, and leaves out runs that catchup
    leaves out. A paused DAG is shown as if it were unpaused now.
    """
    from headway.actions.dags.detail import upcoming_runs
    from headway.cli.input.session import transaction
    from headway.db.core.server import now

    with transaction() as conn:
        found = upcoming_runs(conn, dag_id, now(conn), limit)
    show_coming(found.runs, found.timezone, output)
    if len(found.runs) < limit and found.remarks:
        typer.echo(" ".join(found.remarks), err=True)
