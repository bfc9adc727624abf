"""The HTTP port of a service, as clients find it, good ones and others."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from http import HTTPStatus
from threading import Event, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from headway.domain.errors import SettingsError
from headway.metrics.metric import ServiceKind
from headway.metrics.worker import LOG_BYTES_LOST
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.health import Health, HealthCheck, server
from headway.runtime.health.page import Page
from headway.runtime.health.server import HealthServer, start
from headway.testing.metrics.metrics import total
from headway.testing.time.clock import FakeClock

LONG = 60.0
ANSWERS = HealthCheck("database", True, "answers")


@pytest.fixture(autouse=True)
def _ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOOK_EVERY", 0.01)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def health(clock: FakeClock) -> Health:
    found = Health(Bell(), clock, lambda _patience: [ANSWERS])
    found.begin()
    found.moved()
    return found


@pytest.fixture
def port(health: Health) -> Iterator[int]:
    with closing(start(ServiceKind.WORKER, 0, health)) as running:
        yield running.port


def answer(port: int, path: str, method: str = "GET") -> tuple[int, str, str]:
    """Status, content type and body."""
    request = Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        response: Any = urlopen(request, timeout=LONG)
    except HTTPError as error:
        response = error
    with response:
        return response.status, response.headers["Content-Type"], response.read().decode()


def said(port: int, words: bytes) -> bytes:
    """What the server answers to bytes that may be no HTTP."""
    with socket.create_connection(("127.0.0.1", port), LONG) as client:
        client.sendall(words)
        return b"".join(iter(lambda: client.recv(4096), b""))


def test_it_tells_its_health_as_json(port: int) -> None:
    status, kind, body = answer(port, "/healthz")

    assert (status, kind) == (200, "application/json")
    assert json.loads(body) == {
        "ok": True,
        "checks": [{"check": "loop", "ok": True, "found": "last moved 0.0 s ago"}],
    }


def test_what_is_not_well_is_service_unavailable(
    port: int, health: Health, clock: FakeClock
) -> None:
    health.bell.stop()
    status, _, body = answer(port, "/readyz")

    assert status == 503
    assert json.loads(body) == {
        "ok": False,
        "checks": [
            {"check": "service", "ok": False, "found": "stopping"},
            {"check": "loop", "ok": True, "found": "last moved 0.0 s ago"},
            {"check": "database", "ok": True, "found": "answers"},
        ],
    }
    assert answer(port, "/healthz")[0] == 200
    clock.advance(1000)
    assert answer(port, "/healthz")[0] == 503


def test_it_shows_the_metrics_of_the_process(port: int) -> None:
    LOG_BYTES_LOST.inc(by=7)

    status, kind, body = answer(port, "/metrics")

    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert f"headway_log_bytes_lost_total {total(LOG_BYTES_LOST)}" in body


def test_a_query_does_not_matter(port: int) -> None:
    assert answer(port, "/healthz?verbose=1")[0] == 200


@pytest.mark.parametrize("path", ["/", "/health", "/healthz/", "/metrics/../secret"])
def test_there_are_no_other_pages(port: int, path: str) -> None:
    status, kind, body = answer(port, path)

    assert (status, kind) == (404, "application/json")
    assert "/readyz" in json.loads(body)["error"]


def test_a_head_has_no_body(port: int) -> None:
    assert answer(port, "/healthz", "HEAD")[:2] == (200, "application/json")
    assert said(port, b"HEAD /healthz HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(port: int, method: str) -> None:
    status, kind, body = answer(port, "/healthz", method)

    assert (status, kind) == (405, "application/json")
    assert json.loads(body) == {"error": "Method Not Allowed"}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (b"what?\r\n\r\n", b"Bad Request"),
        (b"GET /healthz HTTP/7.0\r\n", b"HTTP Version Not Supported"),
        (b"GET /" + b"x" * (2**16 + 1 - len(b"GET /")), b"Request-URI Too Long"),
        (b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 101, b"Request Header Fields Too Large"),
    ],
)
def test_what_is_no_proper_request_is_refused(port: int, words: bytes, error: bytes) -> None:
    assert said(port, words).endswith(b'{"error": "' + error + b'"}\n')


def test_headers_tell_no_version(port: int) -> None:
    assert b"Server: headway \r\n" in said(port, b"GET /healthz HTTP/1.1\r\n\r\n")


def test_it_listens_at_every_address_of_the_machine(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), LONG):
        pass
    if socket.has_dualstack_ipv6():
        with suppress(OSError), socket.create_connection(("::1", port), LONG) as client:
            assert client.getpeername()[1] == port


def test_a_port_that_is_taken_is_an_error_that_names_the_setting(port: int, health: Health) -> None:
    with pytest.raises(SettingsError) as caught:
        start(ServiceKind.PARSER, port, health)

    assert str(caught.value).startswith(
        f"HEADWAY_PARSER_HTTP_PORT: this process cannot listen at port {port}: Address already"
    )


def test_beyond_the_most_at_once_it_closes_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_AT_ONCE", 1)
    asked, go = Event(), Event()

    def hold(_path: str, _headers: Mapping[str, str]) -> Page:
        asked.set()
        assert go.wait(LONG)
        return Page(HTTPStatus.OK, "application/json", b"{}")

    with closing(running(HealthServer(0, hold, SystemClock()))) as held:
        with socket.create_connection(("127.0.0.1", held.port), LONG) as first:
            first.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert asked.wait(LONG)

            refused = b""
            with suppress(ConnectionError):
                refused = said(held.port, b"GET /healthz HTTP/1.1\r\n\r\n")
            assert refused == b""

            go.set()
            assert b"".join(iter(lambda: first.recv(4096), b"")).startswith(b"HTTP/1.0 200")
        assert said(held.port, b"GET /healthz HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.0 200")


def test_a_client_that_takes_its_time_is_closed(
    clock: FakeClock, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that sends a byte now and then never runs into the timeout of a socket."""
    monkeypatch.setattr(server._Handler, "timeout", 10 * LONG)
    with socket.create_connection(("127.0.0.1", port), LONG) as client:
        client.sendall(b"GET /healthz HT")
        assert answer(port, "/healthz")[0] == 200  # the slow one was accepted before

        clock.advance(server.LONGEST)

        with suppress(ConnectionError):
            assert client.recv(4096) == b""


@pytest.mark.parametrize(("error", "lines"), [(ValueError("bug"), 1), (OSError("left"), 0)])
def test_a_mistake_is_logged_and_a_client_that_leaves_is_not(
    caplog: pytest.LogCaptureFixture, error: Exception, lines: int
) -> None:
    def fail(_path: str, _headers: Mapping[str, str]) -> Page:
        raise error

    with closing(running(HealthServer(0, fail, SystemClock()))) as failing:
        assert said(failing.port, b"GET /healthz HTTP/1.1\r\n\r\n") == b""

    assert [record.getMessage() for record in caplog.records] == [
        "action=http A request has failed."
    ] * lines


def test_a_service_answers_more_by_path_and_headers(port: int, health: Health) -> None:
    def more(path: str, headers: Mapping[str, str]) -> Page | None:
        if path != "/mine":
            return None
        return Page(HTTPStatus.OK, "text/plain", headers["x-own"].encode(), {"X-More": "told"})

    health.more = more

    found = said(port, b"GET /mine HTTP/1.0\r\nX-Own: word\r\n\r\n")

    assert b"X-More: told\r\n" in found
    assert found.endswith(b"\r\n\r\nword")
    assert answer(port, "/other")[0] == 404


def running(given: HealthServer) -> HealthServer:
    """Have a server serve."""
    Thread(target=given.serve_forever, args=[0.01], daemon=True).start()
    return given
