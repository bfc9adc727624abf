"""`headway worker`: run one, list them, have one drain."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.input.values import Reason
from headway.cli.screen.output import Format, Output, as_row, tell

if TYPE_CHECKING:
    from headway.db.reads.process_views import ProcessView

app = typer.Typer(
    help="Run a worker, which runs tasks. Or list the workers, or drain one.",
    invoke_without_command=True,
)

COLUMNS = (
    "id",
    "hostname",
    "pid",
    "slots",
    "running",
    "queues",
    "draining",
    "load",
    "cpus",
    "memory",
    "memory_available",
    "disk_free",
    "beat_at",
)
_MB = 10**6


@app.callback()
def run(
    context: typer.Context,
    once: Annotated[
        bool,
        typer.Option(
            "--once",
            help="Work until nothing is queued, then end. Status 0 if no task "
            "failed finally, else 1.",
        ),
    ] = False,
    patience: Annotated[
        float, typer.Option(min=0, help="With --once: seconds without work before it ends.")
    ] = 5.0,
) -> None:
    """Run a worker until it is told to stop."""
    if context.invoked_subcommand is not None:
        return
    from headway.cli.input.installed import service
    from headway.cli.input.session import database_url

    idle = patience if once else None
    raise typer.Exit(service("worker")(database_url(), idle))


@app.command("list")
def list_workers(output: Output = Format.TABLE) -> None:
    """List the workers: slots, queues, running attempts, free resources of their machines."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import process_views

    with transaction() as conn:
        found = process_views.processes(conn, "worker")
    if output is Format.TABLE:
        show(({**as_row(worker), **_cells(worker)} for worker in found), COLUMNS, output)
    else:
        show(found, COLUMNS, output)


@app.command()
def drain(
    worker: Annotated[int, typer.Argument(help="The worker's id in `headway worker list`.")],
    reason: Reason = None,
    output: Output = Format.TABLE,
) -> None:
    """Drain a worker: it takes no more attempts, finishes its attempts, and ends."""
    from headway.actions.installation.workers import drain_worker
    from headway.cli.input.acting import act
    from headway.cli.screen.changes import author

    act(lambda conn: drain_worker(conn, worker, author(reason)))
    said = f"Worker {worker} takes no more tasks; it ends when those that it has are done."
    tell(said, {"id": worker, "draining": True}, output)


def _cells(worker: "ProcessView") -> dict[str, object]:
    """Return what a table shows of a worker's own report."""
    report = worker.report or {}
    return {
        "draining": "yes" if worker.drain_requested_at else "",
        "load": report.get("load", ""),
        "cpus": report.get("cpus", ""),
        "memory": _megabytes(report.get("memory_bytes")),
        "memory_available": _megabytes(report.get("memory_available_bytes")),
        "disk_free": _megabytes(report.get("disk_free_bytes")),
    }


def _megabytes(number: object) -> str:
    return f"{number // _MB:,} MB" if isinstance(number, int) else ""
