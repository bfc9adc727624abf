"""Logins that a server refuses are told from servers that are away, in every language."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.exc import OperationalError

from headway.db.core import engine as engines
from headway.db.core.login_refusal import is_refusal, sqlstate_of_login
from headway.runtime.daemon.clock import SystemClock

Answering = Callable[..., str]

_SSL_REQUEST, _GSS_REQUEST = 80877103, 80877104


def _serve(listening: socket.socket, fields: dict[str, str], *, ask: bool) -> None:
    """Answer as a server does: a request for a password first, if it is to `ask`."""
    body = b"".join(name.encode() + text.encode() + b"\0" for name, text in fields.items()) + b"\0"
    error = b"E" + struct.pack(">i", len(body) + 4) + body
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        with client:
            while True:
                begun = client.recv(4, socket.MSG_WAITALL)
                if not begun:
                    break
                (length,) = struct.unpack(">i", begun)
                code = struct.unpack(">i", client.recv(length - 4, socket.MSG_WAITALL)[:4])[0]
                if code not in {_SSL_REQUEST, _GSS_REQUEST}:
                    break
                client.sendall(b"N")
            if ask:
                client.sendall(b"R" + struct.pack(">ii", 8, 3))
                client.recv(1000)
            client.sendall(error)


@pytest.fixture
def answering() -> Iterator[Answering]:
    """Start servers that answer each login by an error; return their addresses."""
    started: list[socket.socket] = []

    def start(code: str, message: str, *, ask: bool = False) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        started.append(listening)
        fields = {"S": "致命错误", "V": "FATAL", "C": code, "M": message}
        thread = threading.Thread(
            target=_serve, args=(listening, fields), kwargs={"ask": ask}, daemon=True
        )
        thread.start()
        return f"postgresql://somebody:secret@127.0.0.1:{listening.getsockname()[1]}/headway"

    yield start
    for each in started:
        each.close()


def failed(url: str) -> tuple[Engine, OperationalError]:
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg2"))
    with pytest.raises(OperationalError) as caught:
        engine.connect()
    return engine, caught.value


@pytest.mark.regression
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("28P01", "Passwort-Authentifizierung für Benutzer »somebody« fehlgeschlagen"),
        ("28000", "kein pg_hba.conf-Eintrag für Host »127.0.0.1«"),
        ("28000", "Rolle »somebody« darf sich nicht einloggen"),
        ("3D000", "Datenbank »headway« existiert nicht"),
        ("42501", "keine Berechtigung für Datenbank »headway«"),
    ],
)
@pytest.mark.parametrize("ask", [False, True])
def test_a_refused_login_is_known_by_its_sqlstate(
    answering: Answering, code: str, message: str, ask: bool
) -> None:
    engine, error = failed(answering(code, message, ask=ask))

    assert "致命错误" in str(error)
    assert not engines.is_away(error, engine)


@pytest.mark.regression
@pytest.mark.parametrize("code", ["57P03", "53300", "57P01"])
def test_a_server_that_cannot_take_a_login_now_is_away(answering: Answering, code: str) -> None:
    """The text is one that other errors have as well."""
    message = 'nothing said: "authentication failed" does not exist'

    engine, error = failed(answering(code, message))

    assert engines.is_away(error, engine)


def test_where_nobody_listens_there_is_no_state() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    url = f"postgresql://somebody@127.0.0.1:{port}/headway"

    engine, error = failed(url)

    assert sqlstate_of_login(url, SystemClock()) is None
    assert engines.is_away(error, engine)


def test_a_login_that_succeeds_has_no_state(database_url: str) -> None:
    assert sqlstate_of_login(database_url, SystemClock()) is None


def test_no_state_is_no_refusal() -> None:
    assert not is_refusal(None)
