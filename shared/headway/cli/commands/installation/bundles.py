"""`headway bundles`: where DAG files come from."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.input.values import Reason, Yes
from headway.cli.screen.output import Format, Output, tell

if TYPE_CHECKING:
    from headway.cli.input.session import Transaction

app = typer.Typer(help="Bundles of DAG files: list and forget them.", no_args_is_help=True)

COLUMNS = ("name", "commit", "files", "dags", "errors", "parsed_at", "parsers")


@app.command("list")
def list_bundles(output: Output = Format.TABLE) -> None:
    """List bundles: the number of files, of DAGs, and of parsers of each."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import bundle_views

    with transaction() as conn:
        rows = bundle_views.list_all(conn)
    show(rows, COLUMNS, output)


@app.command()
def forget(
    name: Annotated[str, typer.Argument(help="The bundle's name in `headway bundles list`.")],
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Deactivate the DAGs of a bundle that no parser has any more. Their history stays."""
    from headway.actions.installation.bundles import forget_bundle
    from headway.cli.input.acting import act, ask, rehearse
    from headway.cli.screen.changes import author

    def work(conn: "Transaction") -> list[str]:
        return forget_bundle(conn, name, author(reason))

    if not yes:
        ask(f"The bundle {name} will be forgotten, and its {len(rehearse(work))} DAGs deactivated.")
    gone = act(work)
    row = {"name": name, "deactivated": gone}
    tell(f"Forgot the bundle {name}, and deactivated its {len(gone)} DAGs.", row, output)
