"""`headway dags next`: when a DAG runs."""

from typing import Annotated

import typer

from headway.cli.commands.dags.timetable import FEW, MOST, show_coming
from headway.cli.screen.output import Format, Output


def next_runs(
    dag_id: str,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST, help="How many.")] = FEW,
    output: Output = Format.TABLE,
) -> None:
    """Show the runs that the schedule of a DAG has next, due or to come.

    It goes on from the last interval that was dealt with, and leaves out what catchup
    leaves out; a paused DAG's are shown as if it were unpaused now.
    """
    from headway.actions.dags.look import upcoming_runs
    from headway.cli.input.session import transaction
    from headway.db.core.server import now

    with transaction() as conn:
        found = upcoming_runs(conn, dag_id, now(conn), limit)
    show_coming(found.runs, found.timezone, output)
    if len(found.runs) < limit and found.remarks:
        typer.echo(" ".join(found.remarks), err=True)
