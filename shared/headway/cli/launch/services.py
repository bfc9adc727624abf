"""The services, and the commands that run all of them on one machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.commands.installation import worker


def add_to(app: typer.Typer) -> None:
    """Add the commands that run something until it is stopped."""
    app.command(help="Serve the REST API. Any number of api processes may run.")(_service("api"))
    app.command(help="Run a parser, which stores DAG files in the database.")(_service("parser"))
    app.command(help="Run a scheduler. Any number of schedulers may run.")(_service("scheduler"))
    app.add_typer(worker.app, name="worker")
    app.command()(forker)
    app.command()(standalone)
    app.command()(demo)


def forker(
    socket: Annotated[Path, typer.Option(help="The Unix socket at which it listens.")],
    service: Annotated[
        str | None,
        typer.Option(
            "--for", help="The service whose children it forks: parser, worker or worker-spark."
        ),
    ] = None,
    preload: Annotated[
        list[str] | None, typer.Option(help="A module that children need. May be repeated.")
    ] = None,
    supervisor_uid: Annotated[
        list[int] | None,
        typer.Option(help="The uid of another user that it serves. May be repeated."),
    ] = None,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="On SIGTERM, wait until all supervisors have ended."),
    ] = False,
) -> None:
    """Run a fork server without secrets. A service reaches it at a Unix socket.

    It serves its own user and root, and forks children that run untrusted code.
    """
    from headway.cli.launch import forking

    forking.run(socket, service, preload or [], supervisor_uid or [], drain=drain)


def standalone(
    dags: Annotated[Path, typer.Option(help="The folder of DAG files.")] = Path("dags"),
    schedulers: Annotated[int, typer.Option(min=1, help="Number of schedulers.")] = 1,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the embedded Postgres.")
    ] = None,
) -> None:
    """Run everything on this machine until Ctrl-C: embedded Postgres, and all services.

    State is kept under HEADWAY_HOME, by default `.headway` in the current folder.
    """
    from headway.cli.launch.standalone import run

    raise typer.Exit(run(dags, schedulers, port))


def demo(
    days: Annotated[
        int, typer.Option(min=1, max=7, help="Days of flights; less than a week takes less time.")
    ] = 7,
) -> None:
    """Backfill the example DAG over a week of real flights, and show the result.

    The exit status is 1 if a run fails, and 130 after Ctrl-C or SIGTERM.
    """
    from headway.cli.launch.demo import run

    raise typer.Exit(run(days))


def _service(name: str) -> Callable[[], None]:
    def run() -> None:
        from headway.cli.input.installed import service
        from headway.cli.input.session import database_url

        raise typer.Exit(service(name)(database_url()))

    run.__name__ = name
    return run
