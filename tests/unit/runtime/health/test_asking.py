"""How a command asks a service of its machine."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Thread

import pytest

from headway.metrics.metric import ServiceKind
from headway.runtime.daemon.bell import Bell
from headway.runtime.health import Health, HealthCheck
from headway.runtime.health.asking import ask
from headway.runtime.health.server import start
from headway.testing.time.clock import FakeClock


@pytest.fixture
def stranger() -> Iterator[socket.socket]:
    """A port where something else than a service may answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def answered(stranger: socket.socket, words: bytes) -> list[HealthCheck]:
    """What `ask` makes of these words of another program."""

    def reply() -> None:
        client, _ = stranger.accept()
        with client:
            client.recv(4096)
            client.sendall(words)

    thread = Thread(target=reply)
    thread.start()
    found = ask(stranger.getsockname()[1], "/healthz")
    thread.join()
    return found


def test_the_checks_are_those_of_the_service() -> None:
    health = Health(
        Bell(), FakeClock(), lambda _patience: [HealthCheck("database", False, "is away")]
    )
    with closing(start(ServiceKind.WORKER, 0, health)) as running:
        assert ask(running.port, "/healthz") == health.alive()
        assert ask(running.port, "/readyz") == health.ready()
        assert not all(check.ok for check in health.ready())


def test_where_nobody_listens_that_is_the_check(stranger: socket.socket) -> None:
    port = stranger.getsockname()[1]
    stranger.close()

    [check] = ask(port, "/healthz")

    assert check == HealthCheck("endpoint", False, f"no answer at port {port}: Connection refused")


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"220 mail.example.com ESMTP\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n<html>",
        b"HTTP/1.0 404 Not Found\r\n\r\n" + json.dumps({"error": "x"}).encode(),
        b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(["ok"]).encode(),
        b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps({"checks": [{"ok": True}]}).encode(),
    ],
)
def test_what_another_program_answers_is_no_health(stranger: socket.socket, words: bytes) -> None:
    [check] = answered(stranger, words)

    assert (check.check, check.ok) == ("endpoint", False)


def test_only_true_is_well(stranger: socket.socket) -> None:
    body = json.dumps({"ok": True, "checks": [{"check": "loop", "ok": "no", "found": ""}]})

    assert answered(stranger, b"HTTP/1.0 200 OK\r\n\r\n" + body.encode()) == [
        HealthCheck("loop", False, "")
    ]
