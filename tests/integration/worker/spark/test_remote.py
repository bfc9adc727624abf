"""A Connect server behind TLS, as a remote one is: its certificate, its token, its end."""

import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from headway.domain.connection import Connection
from headway.embedded.java import find_java_home
from headway.testing.processes.environment import path_and_home
from headway.testing.processes.required import required_program
from headway.testing.services.machine import stands_still
from headway.testing.time.clock import until
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.server.liveness import answers, resident_bytes
from headway_worker.spark.target.connection import spark_connection
from headway_worker.spark.target.endpoint import ConnectEndpoint
from headway_worker.spark.target.errors import SparkError

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark.sql.connect.session")

from headway_worker.spark.session.session import close_session, open_session  # noqa: E402

Open = Callable[[ConnectEndpoint], Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    import os

    scratch = tmp_path_factory.mktemp("remote")
    settings = ServerSettings(
        java_home=find_java_home(None, os.environ, scratch),
        scratch=scratch,
        environment=path_and_home(),
        java_options=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    )
    started = ConnectServer.start(settings)
    started.wait_ready(120)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of `localhost`, signed by itself, in one file with its key."""
    openssl = required_program("openssl", "openssl")
    folder = tmp_path_factory.mktemp("tls")
    key, file = folder / "key.pem", folder / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run(
        [*command, *subject, "-keyout", str(key), "-out", str(file)],
        check=True,
        capture_output=True,
    )
    return file


@pytest.fixture(scope="module")
def gateway(server: ConnectServer, certificate: Path) -> Iterator[int]:
    """The port of a gateway with TLS before the server, as there is before a remote one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.parent / "key.pem")
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = server.port
        assert port is not None
        Thread(target=_accept, args=(listener, context, port), daemon=True).start()
        yield listener.getsockname()[1]


def _accept(listener: socket.socket, context: ssl.SSLContext, port: int) -> None:
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return
        Thread(target=_pass_on, args=(plain, context, port), daemon=True).start()


def _pass_on(plain: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError), closing(plain):
        client = context.wrap_socket(plain, server_side=True)
        behind = socket.create_connection(("127.0.0.1", port))
        with client, behind:
            back = Thread(target=_copy, args=(behind, client), daemon=True)
            back.start()
            _copy(client, behind)
            behind.shutdown(socket.SHUT_RDWR)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@pytest.fixture
def endpoint(server: ConnectServer, gateway: int, certificate: Path) -> ConnectEndpoint:
    token = server.wait_ready(120).token
    uri = f"sc://localhost:{gateway}/;use_ssl=true;token={token};ca_file={certificate}"
    found = Connection.from_uri("lake", uri)
    return ConnectEndpoint.of(spark_connection("lake", found))


@pytest.fixture
def opened() -> Iterator[Open]:
    sessions: list[Any] = []

    def open_one(endpoint: ConnectEndpoint) -> Any:
        sessions.append(open_session(endpoint, "a", lambda _handle: None))
        return sessions[-1]

    yield open_one
    for session in sessions:
        close_session(session)


def test_a_session_over_tls_with_an_authority_of_ones_own(
    opened: Open, endpoint: ConnectEndpoint
) -> None:
    assert opened(endpoint).range(5).count() == 5


def test_an_authority_that_nobody_knows_is_refused(opened: Open, endpoint: ConnectEndpoint) -> None:
    with pytest.raises(SparkError, match="does not answer"):
        opened(replace(endpoint, ca_file=None))


def test_a_wrong_token_is_refused_over_tls(opened: Open, endpoint: ConnectEndpoint) -> None:
    with pytest.raises(SparkError, match="refuses the token"):
        opened(replace(endpoint, token="wrong"))


def test_properties_of_the_connection_are_those_of_the_session(endpoint: ConnectEndpoint) -> None:
    conf = {"spark.sql.shuffle.partitions": "3"}
    spark = open_session(endpoint, "a", lambda _handle: None, conf)
    try:
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    finally:
        close_session(spark)


def test_a_property_that_a_session_may_not_have_is_told(
    opened: Open, endpoint: ConnectEndpoint
) -> None:
    with pytest.raises(SparkError, match=r"spark\.driver\.memory"):
        open_session(endpoint, "a", lambda _handle: None, {"spark.driver.memory": "3g"})


def test_a_server_answers_and_one_that_was_stopped_does_not(server: ConnectServer) -> None:
    import os
    import signal

    port = server.port
    assert port is not None
    assert answers(port, 60)
    assert resident_bytes(server.pid) > 50 * 2**20

    os.kill(server.pid, signal.SIGSTOP)
    until(lambda: stands_still(server.pid), "a server that stands still")
    try:
        assert not answers(port, 0.5)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert answers(port, 60)


def test_nobody_answers_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    assert not answers(port, 1)
