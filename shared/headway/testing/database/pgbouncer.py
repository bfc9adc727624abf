"""PgBouncer in transaction mode, in front of a Postgres server of the tests.

Its connections to the server take turns, so that whoever relies on anything that a
transaction has left behind in its connection finds out.
"""

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final

from sqlalchemy.engine import URL, make_url

from headway.embedded.account import give, server_account
from headway.embedded.postgres import HOST, choose_port
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.processes.required import required_program

_PATIENCE: Final = 10.0
_CONFIGURATION: Final = """\
[databases]
* = host={host} port={port}

[pgbouncer]
listen_addr = {listen_addr}
listen_port = {listen_port}
unix_socket_dir =
pool_mode = transaction
server_round_robin = 1
max_client_conn = 1000
default_pool_size = 50
server_login_retry = 0.5
auth_type = scram-sha-256
auth_file = {folder}/users.txt
auth_user = {user}
auth_query = SELECT usename, passwd FROM pg_shadow WHERE usename = $1
"""


@dataclass(frozen=True, slots=True)
class PgBouncer:
    """A pooler that runs: it knows all databases and all accounts of its server."""

    server: URL
    port: int

    def through(self, url: str) -> str:
        """Return by which address the same account reaches the same database through it."""
        return make_url(url).set(host=HOST, port=self.port).render_as_string(hide_password=False)

    def past(self, url: str) -> str:
        """Return by which address the same account reaches the same database without it."""
        direct = make_url(url).set(host=self.server.host, port=self.server.port)
        return direct.render_as_string(hide_password=False)


@contextmanager
def pgbouncer(url: str) -> Iterator[PgBouncer]:
    """Run PgBouncer in front of the server at `url`, an address of a superuser."""
    found = required_program("pgbouncer", "pgbouncer")
    server = make_url(url)
    with TemporaryDirectory(prefix="headway-pgbouncer-") as directory:
        folder = Path(directory)
        account = server_account(folder)
        port = choose_port(folder / "port", None)
        _configure(folder, server, port, account)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                dies_with_parent([found, str(folder / "pgbouncer.ini")], user=account),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_until_ready(process, port, folder / "log")
            yield PgBouncer(server, port)
        finally:
            process.kill()
            process.wait(_PATIENCE)


@contextmanager
def front(url: str) -> Iterator[Callable[[str], str]]:
    """Run PgBouncer in front of the server at `url`; return how addresses lead through it."""
    with pgbouncer(url) as running:
        yield running.through


def _configure(folder: Path, server: URL, port: int, account: str | None) -> None:
    configuration = _CONFIGURATION.format(
        host=server.host,
        port=server.port or 5432,
        user=server.username,
        listen_addr=HOST,
        listen_port=port,
        folder=folder,
    )
    users = f'"{server.username}" "{server.password}"\n'
    for name, content in {"pgbouncer.ini": configuration, "users.txt": users}.items():
        file = folder / name
        file.touch(mode=0o600)
        file.write_text(content)
        give(file, account)
    give(folder, account)


def wait_until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until PgBouncer listens; AssertionError, with its log, if it does not in time."""
    clock, never = SystemClock(), Event()
    deadline = clock.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            lives = process.poll() is None and clock.monotonic() < deadline
            assert lives, f"PgBouncer did not start:\n{log.read_text()}"
            clock.wait(never, 0.01)
        else:
            return
