"""What a client may send before it is answered: so much, and in so long a time."""

import asyncio
import socket
from asyncio import Transport
from collections.abc import Iterator
from contextlib import closing
from unittest.mock import create_autospec

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.server import ServerState

from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway_api.http import protocol, server
from headway_api.http.protocol import LimitedProtocol

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


async def length(request: Request) -> PlainTextResponse:
    """Answer with how many bytes the body has."""
    return PlainTextResponse(str(len(await request.body())))


COUNTING = Starlette(routes=[Route("/", length, methods=["GET", "POST"])])


@pytest.fixture
def client() -> Iterator[socket.socket]:
    """A connection to the API, whose answers come within seconds."""
    with (
        server.serving(lambda: COUNTING, read(ApiSettings, port=0)) as port,
        closing(socket.create_connection(("127.0.0.1", port), 30)) as connection,
    ):
        yield connection


def until_closed(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(4_096), b""))


def status(answer: bytes) -> bytes:
    return answer.partition(b"\r\n")[0]


def test_headers_that_go_on_for_ever_are_refused(client: socket.socket) -> None:
    client.sendall(HEAD + b"X-Long: ")
    client.sendall(b"a" * (protocol.MOST_OF_HEAD + 1))

    assert status(until_closed(client)) == b"HTTP/1.1 431 Request Header Fields Too Large"


def test_headers_of_many_requests_do_not_add_up(client: socket.socket) -> None:
    long = HEAD + b"X-Long: " + b"a" * (protocol.MOST_OF_HEAD // 2) + b"\r\n\r\n"

    for _ in range(3):
        client.sendall(long)
        assert status(client.recv(4_096)) == b"HTTP/1.1 200 OK"


def test_a_body_is_no_part_of_the_headers(client: socket.socket) -> None:
    length = 2 * protocol.MOST_OF_HEAD
    client.sendall(POST.replace(b"10", str(length).encode()))
    client.sendall(b"a" * length)

    assert client.recv(4_096).endswith(str(length).encode())


class TestSlowClients:
    """Clients that take longer for a request than they may."""

    @pytest.fixture(autouse=True)
    def _soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "SLOW_REQUEST", 0.1)

    def test_who_sends_nothing_is_told_to_go(self, client: socket.socket) -> None:
        assert status(until_closed(client)) == b"HTTP/1.1 408 Request Timeout"

    def test_who_does_not_end_the_headers_is_told_to_go(self, client: socket.socket) -> None:
        client.sendall(HEAD)

        assert status(until_closed(client)) == b"HTTP/1.1 408 Request Timeout"

    def test_who_does_not_end_the_body_is_cut_off(self, client: socket.socket) -> None:
        client.sendall(POST + b"abc")

        assert until_closed(client) == b""


def test_the_time_for_a_request_ends_when_it_has_come() -> None:
    async def late_after(request: bytes) -> bool:
        config = uvicorn.Config(COUNTING)
        connection = LimitedProtocol(config, ServerState(), {})
        connection.connection_made(create_autospec(Transport, instance=True))
        connection.data_received(request)
        return connection._late is not None

    assert asyncio.run(late_after(POST + b"abc"))
    assert not asyncio.run(late_after(POST + b"abcdefghij"))
