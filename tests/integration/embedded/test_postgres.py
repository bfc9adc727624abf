"""The embedded server on its good days, and after everything that may befall it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest

from headway.domain.errors import EmbeddedError
from headway.embedded.postgres import HOST, PostgresServer
from headway.testing.time.clock import FakeClock

LAUNCHER = """
import signal, sys
from pathlib import Path
from headway.embedded.postgres import PostgresServer
with PostgresServer(Path(sys.argv[1])) as server:
    signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
    print(server.url, flush=True)
    sys.stdin.read()
"""


def query(url: str, statement: str) -> list[tuple[object, ...]]:
    with closing(psycopg2.connect(url.replace("+psycopg2", ""))) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []


def answers(port: int | None) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port or 0)) == 0


def kill(server: PostgresServer) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while server.is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "postgres"


@pytest.fixture
def server(directory: Path) -> Iterator[PostgresServer]:
    with PostgresServer(directory) as server:
        yield server


@pytest.fixture
def stopped(server: PostgresServer) -> PostgresServer:
    server.stop()
    return server


def test_it_serves_until_it_is_stopped(server: PostgresServer) -> None:
    assert server.is_alive()
    assert query(server.url, "SELECT 1") == [(1,)]

    server.stop()
    server.stop()

    assert not server.is_alive()
    assert not answers(server.port)


def test_it_wants_its_password_and_listens_on_this_machine_only(server: PostgresServer) -> None:
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        query(server.url.replace("headway:", "headway:x"), "SELECT 1")

    assert query(server.url, "SHOW listen_addresses") == [(HOST,)]
    assert query(server.url, "SHOW unix_socket_directories") == [("",)]
    assert (server.directory / "password").stat().st_mode & 0o777 == 0o600
    assert server.directory.stat().st_mode & 0o777 == 0o700


def test_it_keeps_what_it_is_told_durably_and_in_utf8(server: PostgresServer) -> None:
    shown = [query(server.url, f"SHOW {name}") for name in ("fsync", "server_encoding", "timezone")]

    assert shown == [[("on",)], [("UTF8",)], [("UTC",)]]


def test_it_has_no_processes_to_read_what_is_in_memory(server: PostgresServer) -> None:
    workers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'io worker'"

    assert query(server.url, workers) == [(0,)]


def test_nothing_is_lost_when_it_is_killed(server: PostgresServer) -> None:
    query(server.url, "CREATE TABLE kept AS SELECT generate_series(1, 1000)")
    url = server.url

    kill(server)
    server.start()

    assert query(url, "SELECT count(*) FROM kept") == [(1000,)]


def test_a_clean_stop_and_start_keep_data_password_and_port(stopped: PostgresServer) -> None:
    with PostgresServer(stopped.directory) as again:
        assert again.url == stopped.url
        assert query(again.url, "SELECT 1") == [(1,)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a parent's death")
def test_it_shuts_down_when_its_launcher_is_killed(directory: Path) -> None:
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert launcher.stdout is not None
    url = launcher.stdout.readline().strip()
    query(url, "CREATE TABLE kept AS SELECT 1")
    launcher.kill()
    launcher.communicate(timeout=10)

    with PostgresServer(directory) as server:
        assert server.url == url
        assert query(url, "SELECT count(*) FROM kept") == [(1,)]
        log = (directory / "server.log").read_text()
    assert "was not properly shut down" not in log


def test_ctrl_c_reaches_its_launcher_alone(directory: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as launcher:
        assert launcher.stdout is not None
        url = launcher.stdout.readline().strip()
        os.killpg(launcher.pid, signal.SIGINT)
        assert launcher.stdout.readline() == "interrupted\n"

        assert query(url, "SELECT 1") == [(1,)]
        assert "shutdown request" not in (directory / "server.log").read_text()
        launcher.communicate(timeout=20)


def test_two_servers_run_side_by_side(server: PostgresServer, tmp_path: Path) -> None:
    with PostgresServer(tmp_path / "other") as other:
        query(other.url, "CREATE TABLE mine AS SELECT 1")

        assert other.port != server.port
        assert query(server.url, "SELECT to_regclass('mine')") == [(None,)]


def test_a_second_server_in_the_same_directory_is_refused(server: PostgresServer) -> None:
    second = PostgresServer(server.directory, clock=FakeClock())

    with pytest.raises(EmbeddedError, match=rf"in use: .* process {server.pid},"):
        second.start()

    assert query(server.url, "SELECT 1") == [(1,)]


def test_a_port_that_was_asked_for_and_is_taken_is_named(directory: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(EmbeddedError, match=rf"port {port} .*[Aa]ddress already in use"):
            PostgresServer(directory, port=port).start()


def test_a_port_that_cannot_be_is_refused(directory: Path) -> None:
    with pytest.raises(EmbeddedError, match="port 70000"):
        PostgresServer(directory, port=70000).start()


def test_a_remembered_port_that_is_taken_is_given_up(stopped: PostgresServer) -> None:
    with (
        socket.create_server((HOST, stopped.port or 0)),
        PostgresServer(stopped.directory) as again,
    ):
        assert again.port != stopped.port
        assert query(again.url, "SELECT 1") == [(1,)]


def test_data_of_another_version_is_left_alone(stopped: PostgresServer) -> None:
    (stopped.directory / "data" / "PG_VERSION").write_text("9.6\n")

    with pytest.raises(EmbeddedError, match=rf"{stopped.directory} was made by Postgres 9\.6"):
        stopped.start()


@pytest.mark.parametrize("lost", ["data/PG_VERSION", "data/global/pg_control"])
def test_damaged_data_is_reported_with_its_directory(stopped: PostgresServer, lost: str) -> None:
    (stopped.directory / lost).unlink()

    with pytest.raises(EmbeddedError, match=rf"(?s){stopped.directory}.*{Path(lost).name}.*move"):
        stopped.start()

    assert not stopped.is_alive()


def test_a_server_that_does_not_start_shows_the_end_of_its_log(directory: Path) -> None:
    with pytest.raises(EmbeddedError, match='unrecognized configuration parameter "nonsense"'):
        PostgresServer(directory, settings={"nonsense": "1"}).start()


def test_what_an_interrupted_initialisation_left_is_replaced(stopped: PostgresServer) -> None:
    data = stopped.directory / "data"
    data.rename(data.with_suffix(".new"))
    (stopped.directory / "password").write_text("")

    stopped.start()

    assert query(stopped.url, "SELECT 1") == [(1,)]
    stopped.stop()


def test_a_folder_with_something_else_in_it_is_left_alone(directory: Path) -> None:
    directory.mkdir(mode=0o755)
    (directory / "thesis.txt").touch()

    with pytest.raises(EmbeddedError, match="is not empty"):
        PostgresServer(directory).start()

    assert [file.name for file in directory.iterdir()] == ["thesis.txt"]
    assert directory.stat().st_mode & 0o777 == 0o755


def test_a_path_that_cannot_be_a_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(EmbeddedError, match=r"cannot be kept in .*file/postgres"):
        PostgresServer(tmp_path / "file" / "postgres").start()


def test_the_log_of_the_start_before_is_kept(stopped: PostgresServer) -> None:
    with PostgresServer(stopped.directory):
        assert "is shut down" in (stopped.directory / "server.log.1").read_text()


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that every account may pass through, unlike pytest's own."""
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def run_as(uid: int, directory: Path) -> "subprocess.CompletedProcess[str]":
    """Run the launcher under `uid`, with a Python that it can reach."""
    candidates = [sys.executable, *(shutil.which("python3", path=p) for p in ("/usr/bin", "/bin"))]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    for python in filter(None, candidates):
        try:
            return subprocess.run(
                [python, "-c", LAUNCHER, directory],
                user=uid,
                group=uid,
                extra_groups=[],
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except PermissionError:
            continue
    pytest.skip("no Python that another account may run")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")


@as_root
def test_an_ordinary_user_runs_it_as_itself(open_place: Path) -> None:
    os.chown(open_place, 65534, 65534)

    result = run_as(65534, open_place / "state" / "postgres")

    assert result.stdout.startswith("postgresql+psycopg2://"), result.stderr
    assert (open_place / "state" / "postgres" / "data").stat().st_uid == 65534


@as_root
def test_a_user_without_a_name_is_told_so(open_place: Path) -> None:
    os.chown(open_place, 54321, 54321)

    result = run_as(54321, open_place / "postgres")

    assert "54321 has no entry in /etc/passwd" in result.stderr


@as_root
def test_a_directory_of_another_account_is_reported(open_place: Path) -> None:
    (open_place / "postgres").mkdir(mode=0o700)

    result = run_as(65534, open_place / "postgres")

    assert "start as the account that made it" in result.stderr


@as_root
def test_root_runs_it_as_another_account_below_its_own_closed_home(directory: Path) -> None:
    directory.parent.chmod(0o700)

    with PostgresServer(directory) as server:
        assert query(server.url, "SELECT 1") == [(1,)]
        assert Path(f"/proc/{server.pid}").stat().st_uid != 0


@as_root
def test_data_made_by_an_account_is_served_by_the_same_one(stopped: PostgresServer) -> None:
    for path in (stopped.directory, *stopped.directory.rglob("*")):
        os.chown(path, 65534, 65534)

    with PostgresServer(stopped.directory) as again:
        assert Path(f"/proc/{again.pid}").stat().st_uid == 65534
        assert query(again.url, "SELECT 1") == [(1,)]
