"""A client of live events, as a browser is one: it reads lines, and applies what they tell."""

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlencode

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """One event of a stream."""

    name: str
    number: str
    data: Mapping[str, Any]


@dataclass(slots=True)
class LiveClient:
    """One open stream, and what it has told so far of each topic; None of one that is gone."""

    connection: HTTPConnection
    response: HTTPResponse
    has: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    number: str = ""

    @classmethod
    def opened(cls, connection: HTTPConnection) -> "LiveClient":
        """Return the stream that was asked for on this connection."""
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return cls(connection, response)

    def next(self) -> LiveEvent:
        """Return the next event, and apply it; EOFError at the end of the stream."""
        found: dict[str, str] = {}
        while "data" not in found or found.get("end") != "":
            line = self.response.readline()
            if not line:
                raise EOFError
            name, _, value = line.decode().rstrip("\n").partition(": ")
            found[name or "end"] = value
            if not name and "data" not in found:
                found = {}
        event = LiveEvent(found["event"], found.get("id", ""), json.loads(found["data"]))
        self._apply(event)
        return event

    def until(self, wanted: Callable[[], bool]) -> None:
        """Apply events until that is so."""
        while not wanted():
            self.next()

    def close(self) -> None:
        """Go away, as a browser does whose tab is closed."""
        self.response.close()
        self.connection.close()

    def _apply(self, event: LiveEvent) -> None:
        topic = event.data.get("topic", "")
        self.number = event.number or self.number
        match event.name:
            case "snapshot":
                self.has[topic] = dict(event.data["entries"])
            case "gone":
                self.has[topic] = None
            case "change":
                entries = self.has[topic]
                assert entries is not None
                for name in event.data.get("gone", ()):
                    del entries[name]
                entries |= event.data.get("changed", {})


def connect(port: int, token: str | None, *topics: str, **headers: str) -> HTTPConnection:
    """Ask for a stream, without reading anything of the answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    named = urlencode([("topic", topic) for topic in topics])
    connection.request("GET", f"/headway/v1/live?{named}", headers=headers)
    return connection


def small(port: int, token: str, *topics: str) -> socket.socket:
    """Ask for a stream by a connection that holds little of what nobody reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    named = urlencode([("topic", topic) for topic in topics])
    lines = [
        f"GET /headway/v1/live?{named} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
    ]
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    return connection
