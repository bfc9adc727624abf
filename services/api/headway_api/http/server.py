"""uvicorn in a thread of this process: it begins, and ends in good order."""

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event, Thread
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from headway.domain.errors import SettingsError
from headway.runtime.settings.api import ApiSettings

log = logging.getLogger(__name__)

MOST_WAITING: Final = 256
"""Connections that wait to be accepted."""

MOST_AT_ONCE: Final = 4_096
"""Connections at a time, most of them streams; what comes beside them is refused with 503."""

MOST_UNREAD: Final = 262_144
"""Bytes that the machine holds for a client which has not taken them."""

SLOW_CLIENT: Final = 30.0
"""Seconds after which a client that takes nothing of what waits for it is cut off."""


def _nothing() -> None:
    """Do nothing."""


@contextmanager
def serving(
    app: ASGIApp, given: ApiSettings, on_failure: Callable[[], None] = _nothing
) -> Iterator[int]:
    """Serve the application for as long as the block lasts; yield the port.

    At its end, requests that are being answered get `drain_grace` seconds.  `on_failure` is called
    in the thread of the server if that ends before the block does.
    """
    with closing(_listen(given)) as listening:
        server = uvicorn.Server(_configured(app, given))
        stopping = Event()

        def serve() -> None:
            try:
                with suppress(SystemExit):  # so it ends when the application cannot begin
                    server.run([listening])
            finally:
                if not stopping.is_set():
                    log.error("action=serve the server has ended by itself")
                    on_failure()

        thread = Thread(target=serve, name="api", daemon=True)
        thread.start()
        port = int(listening.getsockname()[1])
        log.info("action=listen host=%s port=%d", given.host, port)
        try:
            yield port
        finally:
            stopping.set()
            server.should_exit = True
            thread.join(given.drain_grace + 5)


def _configured(app: ASGIApp, given: ApiSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
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
        h11_max_incomplete_event_size=65_536,
    )


def _listen(given: ApiSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in given.host else socket.AF_INET
    # asyncio sends small answers at once only by a socket that is said to be of TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
