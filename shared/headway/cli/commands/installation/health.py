"""`headway health`: whether a service of this machine is alive, or ready."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output

if TYPE_CHECKING:
    from headway.runtime.health.check import HealthCheck

COLUMNS: Final = ("check", "ok", "found")


class AskedService(StrEnum):
    """What can be asked for its health."""

    API = "api"
    PARSER = "parser"
    SCHEDULER = "scheduler"
    WORKER = "worker"
    FORKER = "forker"


def health(
    service: Annotated[AskedService, typer.Argument(help="The service of this machine to ask.")],
    ready: Annotated[
        bool,
        typer.Option(
            "--ready", help="Ask whether the service is ready, not only whether it is alive."
        ),
    ] = False,
    socket: Annotated[
        Path | None, typer.Option(help="For a fork server: the Unix socket at which it listens.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Ask a service of this machine whether it is alive; the exit status is 1 if it is not.

    A service is asked at its port (HEADWAY_API_HTTP_PORT, HEADWAY_PARSER_HTTP_PORT,
    HEADWAY_SCHEDULER_HTTP_PORT, HEADWAY_WORKER_HTTP_PORT), a fork server at its socket.
    """
    from headway.cli.screen.output import show

    if service is AskedService.FORKER:
        found = [_forker(socket)]
    else:
        found = _service(service, "/readyz" if ready else "/healthz")
    show(found, COLUMNS, output)
    if not all(check.ok for check in found):
        raise typer.Exit(ExitStatus.FAILED)


def _service(service: AskedService, path: str) -> "list[HealthCheck]":
    from headway.domain.errors import SettingsError
    from headway.runtime.health.asking import ask

    port = _port(service)
    if not port:
        raise SettingsError(
            f"The {service} of this machine cannot be asked: HEADWAY_{service.upper()}_HTTP_PORT "
            "is 0. Set it to a port, for the service and for this command."
        )
    return ask(port, path)


def _port(service: AskedService) -> int:
    from headway.runtime.settings import configuration, worker
    from headway.runtime.settings.api import ApiSettings
    from headway.runtime.settings.parser import ParserSettings
    from headway.runtime.settings.scheduler import SchedulerSettings

    match service:
        case AskedService.API:
            return configuration.read(ApiSettings).http_port
        case AskedService.PARSER:
            return configuration.read(ParserSettings).http_port
        case AskedService.SCHEDULER:
            return configuration.read(SchedulerSettings).http_port
    return configuration.read(worker.WorkerSettings).http_port


def _forker(socket: Path | None) -> "HealthCheck":
    from headway.domain.errors import SettingsError
    from headway.runtime.forker.ping import ping
    from headway.runtime.forker.records import ForkerError
    from headway.runtime.health.check import HealthCheck

    if socket is None:
        raise SettingsError("Name the socket of the fork server: --socket PATH.")
    try:
        return HealthCheck("fork server", True, f"answers; it serves {ping(socket)} supervisors")
    except ForkerError as error:
        return HealthCheck("fork server", False, str(error))
