"""A way to the database that can be cut: nothing is refused or closed, nothing comes through."""

import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Final

from sqlalchemy.engine import make_url

_EVERY: Final = 0.02


@dataclass(slots=True)
class Relay:
    """Pass bytes between clients and a server for as long as it is not `cut`."""

    listening: socket.socket
    server: tuple[str, int]
    _cut: Event = field(default_factory=Event)
    _over: Event = field(default_factory=Event)
    _ends: dict[socket.socket, socket.socket] = field(default_factory=dict)

    @property
    def port(self) -> int:
        """Where clients come in."""
        return int(self.listening.getsockname()[1])

    def through(self, url: str) -> str:
        """Return the address by which a client comes through here."""
        host, port = self.listening.getsockname()
        return make_url(url).set(host=host, port=port).render_as_string(hide_password=False)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Let nothing through for as long as the context lasts; what was sent comes afterwards."""
        self._cut.set()
        try:
            yield
        finally:
            self._cut.clear()

    def run(self) -> None:
        """Pass bytes until `close`."""
        try:
            self._run()
        finally:
            for end in self._ends:
                end.close()

    def close(self) -> None:
        """Have `run` return."""
        self._over.set()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.listening, selectors.EVENT_READ)
            while not self._over.is_set():
                if self._cut.is_set():
                    self._over.wait(_EVERY)
                    continue
                for key, _ in selector.select(_EVERY):
                    if key.fileobj is self.listening:
                        self._accept(selector)
                    elif isinstance(key.fileobj, socket.socket):
                        self._pass_on(selector, key.fileobj)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        client, _address = self.listening.accept()
        try:
            server = socket.create_connection(self.server)
        except OSError:  # the server is away: its client is refused as well
            client.close()
            return
        self._ends |= {client: server, server: client}
        for end in (client, server):
            selector.register(end, selectors.EVENT_READ)

    def _pass_on(self, selector: selectors.BaseSelector, end: socket.socket) -> None:
        data = b""
        with suppress(OSError):
            data = end.recv(65536)
        if data and end in self._ends:
            with suppress(OSError):
                self._ends[end].sendall(data)
                return
        if end in self._ends:
            for each in (end, self._ends[end]):
                selector.unregister(each)
                del self._ends[each]
                each.close()


@contextmanager
def relay(url: str, port: int = 0) -> Iterator[Relay]:
    """Run a relay to the server of that address, at a port of this machine or at any."""
    address = make_url(url)
    with ExitStack() as ending:
        listening = ending.enter_context(socket.create_server(("127.0.0.1", port)))
        running = Relay(listening, (address.host or "127.0.0.1", address.port or 5432))
        thread = Thread(target=running.run, name="relay", daemon=True)
        thread.start()
        try:
            yield running
        finally:
            running.close()
            thread.join()
