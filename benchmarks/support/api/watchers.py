"""Clients of live events, many at a time: they read what comes, and note when."""

import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Final
from urllib.parse import urlencode

from benchmarks.support.api.client import PATIENCE
from benchmarks.support.api.service import ApiService

_WHOLE: Final = b"event: snapshot"
_CHANGE: Final = b"event: change"


@dataclass(slots=True)
class Watchers:
    """Streams that a thread reads: how many have begun, and when the last change came."""

    begun: int = 0
    changes: int = 0
    last: float = 0.0
    stop: Event = field(default_factory=Event)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def run(self) -> None:
        """Read until it is stopped."""
        while not self.stop.is_set():
            for key, _ in self.selector.select(0.1):
                stream = key.fileobj
                assert isinstance(stream, socket.socket)
                found = stream.recv(262_144)
                now = time.perf_counter()
                if not found:
                    self.selector.unregister(stream)
                self.begun += found.count(_WHOLE)
                if _CHANGE in found:
                    self.changes += found.count(_CHANGE)
                    self.last = now

    def until(self, begun: int = 0, changes: int = 0) -> None:
        """Wait until so many topics have begun, and so many changes have come."""
        deadline = time.monotonic() + PATIENCE
        while self.begun < begun or self.changes < changes:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.begun} of {begun} topics, {self.changes} changes")
            time.sleep(0.001)


@contextmanager
def watchers(api: ApiService, topics: Sequence[Sequence[str]]) -> Iterator[Watchers]:
    """Open a stream for each of these lists of topics, and wait until all have begun."""
    watching, opened = Watchers(), []
    reader = Thread(target=watching.run, daemon=True)
    reader.start()
    try:
        for each in topics:
            stream = open_stream(api, each)
            opened.append(stream)
            watching.selector.register(stream, selectors.EVENT_READ)
        watching.until(begun=sum(map(len, topics)))
        yield watching
    finally:
        watching.stop.set()
        reader.join()
        for stream in opened:
            stream.close()


def open_stream(api: ApiService, topics: Sequence[str]) -> socket.socket:
    """Ask for the events of these topics, and return the connection by which they come."""
    named = urlencode([("topic", topic) for topic in topics])
    return open_path(api, f"/headway/v1/live?{named}")


def open_path(api: ApiService, path: str) -> socket.socket:
    """Ask for a stream, and return the connection by which it comes."""
    stream = socket.create_connection(("127.0.0.1", api.port))
    stream.sendall(_request(api, path))
    return stream


def _request(api: ApiService, path: str) -> bytes:
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: localhost:{api.port}",
        f"Authorization: Bearer {api.token}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
