"""Where `headway standalone` serves the API: at the port that is set, or else at a free one."""

import socket
from dataclasses import dataclass
from typing import Final

from headway.cli.input import installed
from headway.domain.errors import SettingsError
from headway.runtime.settings import configuration
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import variable

_HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound to it here
"""By which address this machine reaches what listens at all of its addresses."""


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """Where the API of this machine listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Return by which address this machine reaches it."""
        host = _HERE.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def find() -> ApiAddress | None:
    """Return where the API can listen; None if it is not installed.

    The usual port may be taken, by the standalone of another folder: then it is another one.
    SettingsError if a port that was set is taken.
    """
    if not installed.has_api():
        return None
    given = configuration.read(ApiSettings)
    port = _free(given.host, given.port)
    if port is None and configuration.defaults(ApiSettings, {"port": given.port}):
        port = _free(given.host, 0)
    if port is None:
        raise SettingsError(
            f"{variable(ApiSettings, 'port')} is {given.port}, and the API cannot listen there, at "
            f"{given.host}: another process does, or {given.host} is no address of this machine. "
            "Set another port, or 0 for any free one."
        )
    return ApiAddress(given.host, port)


def _free(host: str, port: int) -> int | None:
    """Return the port if a process can listen there, or a free one for 0; None if it cannot."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError:
            return None
        return int(tried.getsockname()[1])
