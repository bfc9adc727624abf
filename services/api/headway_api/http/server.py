"""uvicorn in a thread of this process: it begins, and ends in good order."""

import logging
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from headway.domain.errors import SettingsError
from headway.runtime.daemon.bell import Bell
from headway.runtime.processes import garbage
from headway.runtime.settings.api import ApiSettings

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

log = logging.getLogger(__name__)

MOST_WAITING: Final = 256
"""Connections that wait to be accepted."""

MOST_AT_ONCE: Final = 4_096
"""Connections at a time, most of them streams; what comes beside them is refused with 503."""

MOST_UNREAD: Final = 262_144
"""Bytes that the machine holds for a client which has not taken them."""

SLOW_CLIENT: Final = 30.0
"""Seconds after which a client that takes nothing of what waits for it is cut off."""


Load: TypeAlias = "Callable[[], ASGIApp]"
"""Makes the application; what that imports is most of what the process has in memory."""


class ServerFailedError(Exception):
    """The thread that answers requests has ended by itself; the log says by what."""


@contextmanager
def serving(load: Load, given: ApiSettings, bell: Bell | None = None) -> Iterator[int]:
    """Serve the application for as long as the block lasts; yield the port.

    It is loaded meanwhile, or when the first client connects if the settings say so: loading takes
    seconds of a busy machine, and the block tells the database that this process lives.  Clients
    that connect before wait.  If loading fails, or the server ends by itself, the bell is stopped,
    and the end of the block raises the error.

    At the end, requests that are being answered get `drain_grace` seconds.
    """
    waking, awaited = socket.socketpair()
    with closing(_listen(given)) as listening, closing(awaited), closing(waking):
        server = _Server(load, given, listening, awaited, bell or Bell())
        thread = Thread(target=server.run, name="api", daemon=True)
        thread.start()
        port = int(listening.getsockname()[1])
        log.info("action=listen host=%s port=%d", given.host, port)
        try:
            yield port
        finally:
            server.end()
            waking.close()
            thread.join(given.drain_grace + 5)
        if server.error is not None:
            raise server.error


@dataclass(slots=True)
class _Server:
    """Loads the application, and answers until it is told to end."""

    load: Load
    given: ApiSettings
    listening: socket.socket
    ended: socket.socket
    """Readable when the server is to end."""

    bell: Bell
    error: Exception | None = None
    _is_ended: bool = False
    _uvicorn: "uvicorn.Server | None" = field(default=None)

    def run(self) -> None:
        try:
            if not self.given.load_at_first_request or self._is_wanted():
                self._uvicorn = self._loaded()
                if not self._is_ended:
                    self._answer(self._uvicorn)
        except Exception as error:  # noqa: BLE001 - the thread that waits for this one raises it
            self.error = error
            self.bell.stop()

    def _answer(self, uvicorn: "uvicorn.Server") -> None:
        with suppress(SystemExit):  # so it ends when the application cannot begin
            uvicorn.run([self.listening])
        if not self._is_ended:
            log.error("action=serve the server has ended by itself")
            raise ServerFailedError

    def end(self) -> None:
        self._is_ended = True
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True

    def _is_wanted(self) -> bool:
        """Wait for a client; tell whether one connected before the end."""
        ready, _, _ = select.select([self.listening, self.ended], [], [])
        return self.ended not in ready

    def _loaded(self) -> "uvicorn.Server":
        log.info("action=load")
        garbage.hardly_ever()
        try:
            return _uvicorn(self.load(), self.given)
        finally:
            garbage.as_usual()


def _uvicorn(app: "ASGIApp", given: ApiSettings) -> "uvicorn.Server":
    import uvicorn

    from headway_api.http.protocol import LimitedProtocol

    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=LimitedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(given.trusted_proxies),
        forwarded_allow_ips=list(given.trusted_proxies),
        limit_concurrency=MOST_AT_ONCE,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=max(1, round(given.drain_grace)),
    )
    return uvicorn.Server(config)


def _listen(given: ApiSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in given.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _limit(listening)
        listening.bind((given.host, given.port))
        listening.listen(MOST_WAITING)
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"HEADWAY_API_HOST and HEADWAY_API_PORT: this process cannot listen at {given.host}, "
            f"port {given.port}: {error.strerror}. Choose an address of this machine and a port "
            "that no other process has."
        ) from error
    return listening


def _limit(listening: socket.socket) -> None:
    """Have every connection that is accepted hold little, and end when nothing is taken."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_UNREAD)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux has it
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(SLOW_CLIENT * 1000))
