"""Where `headway standalone` serves the API: at the port that is set, or else at a free one."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from headway.cli.input import installed
from headway.domain.errors import SettingsError
from headway.runtime.settings import configuration
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import variable

_HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound to it here
"""By which address this machine reaches what listens at all of its addresses."""

_TRIES: Final = 3
"""How often a free port is looked for: another launcher may claim the same one first."""


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


@contextmanager
def claimed() -> Iterator[ApiAddress | None]:
    """Yield where the API can listen, None if it is not installed; it is claimed meanwhile.

    The usual port may be taken, by the standalone of another folder: then it is another one.
    SettingsError if a port that was set is taken.
    """
    if not installed.has_api():
        yield None
        return
    given = configuration.read(ApiSettings)
    is_set = not configuration.defaults(ApiSettings, {"port": given.port})
    others = [] if is_set else [0] * _TRIES
    for port in (given.port, *others):
        with _claim(given.host, port) as free:
            if free is not None:
                yield ApiAddress(given.host, free)
                return
    raise SettingsError(
        f"{variable(ApiSettings, 'port')} is {given.port}, and the API cannot listen there, at "
        f"{given.host}: another process does, or {given.host} is no address of this machine. "
        "Set another port, or 0 for any free one."
    )


@contextmanager
def _claim(host: str, port: int) -> Iterator[int | None]:
    """Yield the port if a process can listen there, or a free one for 0; None if it cannot.

    Until the API listens, other launchers learn by a socket in the abstract namespace of Linux
    that this one is about to use the port.
    """
    with (
        socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried,
        socket.socket(socket.AF_UNIX) as claim,
    ):
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
            free = int(tried.getsockname()[1])
            if sys.platform == "linux":
                claim.bind(f"\0headway-api-port-{free}")
        except OSError:
            yield None
            return
        tried.close()  # the API is to listen there
        yield free
