"""How the API listens: what holds for each connection that it accepts."""

import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Event

import pytest
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from headway.domain.errors import SettingsError
from headway.runtime.daemon.bell import Bell
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway_api.http import server
from headway_api.http.server import ServerFailedError


@pytest.fixture
def accepted() -> Iterator[socket.socket]:
    """A connection that the API has accepted."""
    with (
        closing(server._listen(read(ApiSettings, port=0))) as listening,
        closing(socket.create_connection(listening.getsockname())),
        closing(listening.accept()[0]) as connection,
    ):
        yield connection


def test_a_client_that_takes_nothing_is_cut_off_by_the_machine(accepted: socket.socket) -> None:
    timeout = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)

    assert timeout == server.SLOW_CLIENT * 1000


def test_little_is_held_for_a_client_that_takes_nothing(accepted: socket.socket) -> None:
    """Linux counts its own bookkeeping, and so doubles what it is told."""
    held = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)

    assert held <= 2 * server.MOST_UNREAD


async def failing(scope: Scope, receive: Receive, _send: Send) -> None:
    """An application that never starts."""
    if scope["type"] == "lifespan":
        await receive()
    raise RuntimeError("broken")


def test_a_server_that_ends_by_itself_ends_its_process_with_an_error() -> None:
    bell = Bell()

    with (
        pytest.raises(ServerFailedError),
        server.serving(lambda: failing, read(ApiSettings, port=0), bell),
    ):
        assert bell.stopped.wait(30)


def test_a_server_that_is_told_to_end_has_not_failed() -> None:
    bell = Bell()

    with server.serving(Starlette, read(ApiSettings, port=0), bell) as port:
        socket.create_connection(("127.0.0.1", port)).close()

    assert not bell.stopped.is_set()


def test_the_block_begins_while_the_application_is_loaded() -> None:
    may_load = Event()

    def load() -> Starlette:
        assert may_load.wait(60)
        return Starlette()

    with (
        server.serving(load, read(ApiSettings, port=0)) as port,
        socket.create_connection(("127.0.0.1", port)) as client,  # it waits
    ):
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        may_load.set()
        assert client.recv(1_000).startswith(b"HTTP/1.1 404 ")


def test_an_application_that_cannot_be_loaded_ends_its_process_with_the_error() -> None:
    bell = Bell()

    def load() -> Starlette:
        raise SettingsError("a package is missing")

    with (
        pytest.raises(SettingsError, match="a package is missing"),
        server.serving(load, read(ApiSettings, port=0), bell),
    ):
        assert bell.stopped.wait(30)
