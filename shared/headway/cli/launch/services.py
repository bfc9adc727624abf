"""The services, and the commands that run all of them on one machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.commands.installation import worker


def add_to(app: typer.Typer) -> None:
    """Add the commands that run something until it is stopped."""
    app.command(help="Run a parser: DAG files to the database.")(_service("parser"))
    app.command(help="Run a scheduler; as many as you like may run.")(_service("scheduler"))
    app.add_typer(worker.app, name="worker")
    app.command()(forker)
    app.command()(standalone)
    app.command()(demo)


def forker(
    socket: Annotated[Path, typer.Option(help="The Unix socket to listen at.")],
    service: Annotated[
        str | None,
        typer.Option("--for", help="Whose children it forks: parser, worker or worker-spark."),
    ] = None,
    preload: Annotated[
        list[str] | None, typer.Option(help="A module that children need; may be repeated.")
    ] = None,
    supervisor_uid: Annotated[
        list[int] | None, typer.Option(help="Another user that it serves; may be repeated.")
    ] = None,
    drain: Annotated[
        bool,
        typer.Option("--drain", help="On SIGTERM, wait until all its supervisors have gone."),
    ] = False,
) -> None:
    """Run a fork server without a secret of its own, for services that find it at a socket.

    It serves its own user and root, and forks children that run untrusted code.
    """
    from headway.cli.launch import forking

    forking.run(socket, service, preload or [], supervisor_uid or [], drain=drain)


def standalone(
    dags: Annotated[Path, typer.Option(help="The folder of DAG files.")] = Path("dags"),
    schedulers: Annotated[int, typer.Option(min=1, help="How many schedulers.")] = 1,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the embedded Postgres.")
    ] = None,
) -> None:
    """Run everything on this machine until Ctrl-C: embedded Postgres, parser, scheduler, worker.

    State is kept under HEADWAY_HOME, by default `.headway` in the current folder.
    """
    from headway.cli.launch.standalone import run

    raise typer.Exit(run(dags, schedulers, port))


def demo() -> None:
    """Backfill the example DAG over a week of real flights, and show what comes out.

    The exit status is 1 when a run fails, and 130 after Ctrl-C or SIGTERM.
    """
    from headway.cli.launch.demo import run

    raise typer.Exit(run())


def _service(name: str) -> Callable[[], None]:
    def run() -> None:
        from headway.cli.input.installed import service
        from headway.cli.input.session import database_url

        raise typer.Exit(service(name)(database_url()))

    run.__name__ = name
    return run
