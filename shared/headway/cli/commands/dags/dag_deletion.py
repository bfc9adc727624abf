"""`headway dags reparse` and `delete`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.input.values import Reason, Yes
from headway.cli.screen.output import Format, Output, as_row, tell

if TYPE_CHECKING:
    from headway.cli.input.session import Transaction
    from headway.db.reads.dag_views import DagExtent


def reparse(dag_id: str, reason: Reason = None, output: Output = Format.TABLE) -> None:
    """Parse the file of a DAG now, even if the file has not changed."""
    from headway.actions.dags.delete import reparse as request_parse
    from headway.cli.input.acting import act
    from headway.cli.screen.changes import author
    from headway.db.core import notices

    path = act(lambda conn: request_parse(conn, dag_id, author(reason)), [notices.PARSER])
    row = {"dag_id": dag_id, "relative_path": path}
    tell(f"A parser is asked to parse {path}.", row, output)


def delete(
    dag_id: str,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Delete the DAG even if a file defines it. It starts again without its history.",
        ),
    ] = False,
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Delete a DAG with its runs and versions. Its events and its logs stay.

    All runs must have ended. The DAG is paused meanwhile. Run an interrupted command again to
    continue.
    """
    from headway.actions.dags.delete import begin_deletion, continue_deletion
    from headway.cli.input.acting import act, ask, rehearse
    from headway.cli.screen.changes import author
    from headway.db.core import notices

    def begin(conn: "Transaction") -> "DagExtent":
        return begin_deletion(conn, dag_id, author(reason), anyway=anyway)

    if not yes:
        ask(f"The DAG {dag_id} with {_told(rehearse(begin))} will be deleted.")
    extent = act(begin)
    while act(lambda conn: continue_deletion(conn, dag_id), [notices.PARSER]):
        pass
    again = " Its file is parsed again." if anyway else ""
    row = {"dag_id": dag_id, **as_row(extent), "parsed_again": anyway}
    tell(f"Deleted the DAG {dag_id} with {_told(extent)}.{again}", row, output)


def _told(extent: "DagExtent") -> str:
    return f"{extent.runs} runs, {extent.instances} task instances and {extent.versions} versions"
