"""A COMMIT whose answer is lost: done on the server, failed for the client."""

import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from threading import Thread

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from headway.db.core import engine as engines
from headway.db.core.engine import is_transient


@dataclass
class Wire:
    """A wire to a server, which is cut when the answer to a COMMIT comes along it."""

    server: tuple[str, int]
    listening: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                Thread(target=self.carry, args=[client], daemon=True).start()

    def carry(self, client: socket.socket) -> None:
        with client, closing(socket.create_connection(self.server)) as server:
            Thread(target=self.forth, args=[client, server], daemon=True).start()
            with suppress(OSError):
                while (answer := server.recv(65536)) and b"COMMIT\0" not in answer:
                    client.sendall(answer)
            for end in (client, server):  # closing alone does not end the other thread's wait
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def forth(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while question := client.recv(65536):
                server.sendall(question)


@pytest.fixture
def behind_wire(database_url: str) -> Iterator[Engine]:
    url = make_url(database_url)
    wire = Wire((url.host or "", url.port or 5432))
    Thread(target=wire.serve, daemon=True).start()
    here = url.set(host="127.0.0.1", port=wire.listening.getsockname()[1])
    engine = engines.connect(here.render_as_string(hide_password=False), pooler=True)
    yield engine
    engine.dispose()
    wire.listening.close()


def test_a_commit_whose_answer_is_lost_may_be_tried_again(
    behind_wire: Engine, engine: Engine
) -> None:
    with pytest.raises(DBAPIError) as caught, behind_wire.begin() as conn:
        conn.execute(text("INSERT INTO pool (name, slots) VALUES ('new', 1)"))

    assert is_transient(caught.value)
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT slots FROM pool WHERE name = 'new'")) == 1
