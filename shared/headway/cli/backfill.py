"""`headway backfill`: run a DAG over past intervals."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.output import Format, Output

if TYPE_CHECKING:
    from headway.db.backfills import Progress

app = typer.Typer(help="Backfills: create them, watch them.", no_args_is_help=True)

COLUMNS = ("id", "dag_id", "state", "from_date", "to_date", "runs", "succeeded", "failed")


@app.command()
def create(
    dag_id: str,
    from_date: Annotated[str, typer.Option("--from", help="The first day, such as 2013-01-01.")],
    to_date: Annotated[str, typer.Option("--to", help="The last day, included.")],
    conf: Annotated[str | None, typer.Option(help="Configuration of the runs, as JSON.")] = None,
    max_active_runs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; default: the DAG's.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Show the progress until all runs end.")] = True,
) -> None:
    """Run a DAG for every interval that starts in a range of days, and show the progress.

    The exit status is 1 when a run fails.
    """
    from headway.actions.backfill import BackfillRequest, create_backfill
    from headway.actions.lookup import current_dag
    from headway.cli.session import actor, now, transaction
    from headway.cli.values import parse_conf, parse_date
    from headway.cli.watch import watch_backfill
    from headway.db import views

    with transaction(changes=True) as conn:
        zone = current_dag(conn, dag_id).spec.timezone
        first, last = parse_date(from_date, zone), parse_date(to_date, zone)
        request = BackfillRequest(dag_id, first, last, parse_conf(conf), max_active_runs)
        backfill = create_backfill(conn, request, now(), actor())
        number = views.dags(conn, dag_id)[0]["version"]
    left = f"; {backfill.existing} have run before and are left alone" if backfill.existing else ""
    runs = f"{backfill.created} runs with version {number}"
    print(f"Backfill {backfill.id} of {dag_id}: {runs}{left}.")
    if wait and watch_backfill(backfill.id).failed:
        raise typer.Exit(1)


@app.command()
def show(
    backfill_id: Annotated[int | None, typer.Argument(help="Default: all of them.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Show how far a backfill, or every one, has come."""
    from headway.cli.output import show as render
    from headway.cli.session import transaction
    from headway.db import backfills
    from headway.domain.errors import NotFoundError

    with transaction() as conn:
        found = backfills.progress(conn, backfill_id)
    if backfill_id is not None and not found:
        raise NotFoundError(f"There is no backfill {backfill_id}; `headway backfill show` has all.")
    render([_row(progress) for progress in found], COLUMNS, output)


@app.command()
def run(backfill_id: int) -> None:
    """Schedule what is left of a backfill in this process, apart from all schedulers.

    Its runs are reserved meanwhile.  The database must be given as to a scheduler.
    """
    from importlib.metadata import entry_points

    from headway.cli.services import GROUP
    from headway.cli.session import database_url
    from headway.domain.errors import NotFoundError

    found = entry_points(group=GROUP, name="backfill")
    if not found:
        raise NotFoundError("The scheduler is not installed; install the whole of headway.")
    (point,) = found
    raise typer.Exit(point.load()(database_url(), backfill_id))


def _row(progress: "Progress") -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(progress), "runs": progress.planned, "state": progress.state}
