"""Postgres servers that replicate, archive and are restored: Debian's, with its own programs."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.embedded.account import server_account
from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.time.clock import until

PROGRAMS: Final = Path("/usr/lib/postgresql/15/bin")
PASSWORD: Final = "of-the-operations"
OWNER: Final = "headway"
HOST: Final = "127.0.0.1"
_UP_WITHIN: Final = 60.0
_SETTINGS: Final = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "hot_standby": "on",
    "timezone": "UTC",
}


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind((HOST, 0))
        return int(tried.getsockname()[1])


@dataclass(slots=True)
class Server:
    """A server whose data is in `data`, with settings of its command line."""

    data: Path
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=_free_port)
    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """The address of the database, with the owner's password."""
        return f"postgresql+psycopg2://{OWNER}:{PASSWORD}@{HOST}:{self.port}/{OWNER}"

    def initialise(self) -> None:
        """Make an empty cluster, and the database."""
        password = self.data.with_suffix(".password")
        password.write_text(PASSWORD)
        _give(password)
        self._run(
            *("initdb", "--pgdata", str(self.data), "--auth=scram-sha-256", "--encoding=UTF8"),
            *("--username", OWNER, "--pwfile", str(password), "--locale=C"),
        )
        self.start()
        self.sql(f"CREATE DATABASE {OWNER}", database="postgres")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = [word for name, value in self._all().items() for word in ("-c", f"{name}={value}")]
        with self.data.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                dies_with_parent(
                    [str(PROGRAMS / "postgres"), "-D", str(self.data), *words], user=_account()
                ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
            )
        until(self._answers, f"the server in {self.data}", _UP_WITHIN)

    def kill(self) -> None:
        """Kill it at once, as a machine that loses its power."""
        self._stop(signal.SIGQUIT)

    def stop(self) -> None:
        """Stop it in good order."""
        self._stop(signal.SIGINT)

    def copy_to(self, other: "Server", *options: str) -> None:
        """Make the other one's data a copy of this one's, which goes on meanwhile."""
        self._run("pg_basebackup", "--pgdata", str(other.data), *self._login(), *options)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", "--pgdata", str(self.data), "--wait")

    def dump(self, file: Path) -> None:
        """Dump the database and all roles, while it is in use."""
        roles = self._run("pg_dumpall", "--roles-only", *self._login())
        file.with_suffix(".roles").write_text(roles)
        dump = ("--format=custom", "--file", str(file), *self._login(), OWNER)
        self._run("pg_dump", *dump, own=True)

    def restore(self, file: Path) -> None:
        """Restore what was dumped, into the empty database."""
        roles = file.with_suffix(".roles").read_text()
        lines = [line for line in roles.splitlines() if f"ROLE {OWNER};" not in line]
        self.sql("\n".join(line for line in lines if not line.startswith(("--", "\\"))))
        options = ("--exit-on-error", "--dbname", OWNER, *self._login())
        self._run("pg_restore", *options, str(file), own=True)

    def sql(self, statements: str, database: str = OWNER) -> str:
        """Execute statements, and return what they answer."""
        options = ("--no-psqlrc", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1")
        return self._run("psql", *options, *self._login(), "--dbname", database, given=statements)

    def _all(self) -> Mapping[str, str]:
        return {**_SETTINGS, "port": str(self.port), **self.settings}

    def _login(self) -> tuple[str, ...]:
        return ("--host", HOST, "--port", str(self.port), "--username", OWNER)

    def _answers(self) -> bool:
        assert self._process is not None
        log = self.data.with_suffix(".log")
        assert self._process.poll() is None, f"{self.data} has ended: {log.read_text()[-2000:]}"
        asked = [str(PROGRAMS / "pg_isready"), "--quiet", "--host", HOST, "--port", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0

    def _stop(self, how: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(_UP_WITHIN)

    def _run(self, program: str, *words: str, given: str = "", own: bool = False) -> str:
        done = subprocess.run(
            [str(PROGRAMS / program), *words],
            user=None if own else _account(),
            env={"PATH": os.environ["PATH"], "PGPASSWORD": PASSWORD, "LC_ALL": "C.UTF-8"},
            input=given,
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )
        assert done.returncode == 0, f"{program} {' '.join(words)}: {done.stderr}"
        return done.stdout


@contextmanager
def server(data: Path, **settings: str) -> Iterator[Server]:
    """Give a server that is not started yet; it is gone when the context ends."""
    data.parent.mkdir(parents=True, exist_ok=True)
    _give(data.parent)
    made = Server(data, settings)
    try:
        yield made
    finally:
        made.kill()
        shutil.rmtree(data, ignore_errors=True)


def archive(folder: Path) -> str:
    """Return the command that keeps each segment of the log in a folder, which is made."""
    folder.mkdir()
    _give(folder)
    return f"test ! -f {folder}/%f && cp %p {folder}/%f"


def _account() -> str | None:
    return server_account(Path("/nowhere"))


def _give(path: Path) -> None:
    if (account := _account()) is not None:
        its = pwd.getpwnam(account)
        os.chown(path, its.pw_uid, its.pw_gid)
