"""An embedded Postgres server: started in a directory of its own, gone with its launcher."""

import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Final, Self

from headway.domain.errors import EmbeddedError
from headway.embedded.account import server_account
from headway.embedded.binaries import Binaries, find_binaries
from headway.embedded.data_directory import (
    DATABASE,
    USER,
    DataDirectory,
    check,
    hold,
    initialise,
    password,
)
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.processes.starting import uninterrupted
from headway.runtime.secrets.scrub import scrubbed_environment
from headway.runtime.settings import configuration

HOST: Final = "127.0.0.1"


def choose_port(remembered: Path, wanted: int | None) -> int:
    """Return `wanted` or fail; without it, the remembered port, or another if that is taken."""
    if wanted is not None:
        try:
            return _bind(wanted)
        except (OSError, OverflowError) as error:
            raise EmbeddedError(
                f"Postgres cannot have port {wanted} on {HOST}: {error}. Stop what uses it, "
                "name another port, or name none."
            ) from error
    try:
        return _bind(int(remembered.read_text("ascii")))
    except (OSError, OverflowError, ValueError):
        port = _bind(0)
    remembered.write_text(f"{port}\n", "ascii")
    return port


def _bind(port: int) -> int:
    """Return `port` if a server can have it now, any free one for 0; else OSError."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return int(probe.getsockname()[1])


SETTINGS: Final = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_logical_replication_workers": "0",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "wal_buffers": "256kB",
    "max_pred_locks_per_transaction": "10",  # no transaction is serializable
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
"""For one machine: reached over TCP from itself alone, with no replica to feed, and small."""


_SINCE: Final = (18, {"io_method": "sync"})
"""A version's new settings.  Data is in memory; to read it there were three more processes."""


_STATUS_LINE: Final = 8
"""The line of postmaster.pid that tells how far a server has come; the last one written."""


_START_PATIENCE: Final = 60.0
"""How long recovery after a crash may take."""


_STOP: Final = ((signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
"""Ever ruder ways to stop, and the seconds that each one is given."""


class PostgresServer:
    """A Postgres server whose data is in `directory`; a context manager.

    Start it from the main thread, or from one that lives as long as the server shall:
    the server shuts down when the thread that started it ends, even by `kill -9`.
    After a crash `start` may be called again; nothing that was committed is lost.

    `port` is chosen once and remembered in the directory unless it is given.
    `binaries` is the folder of `initdb` and `postgres`; `settings` are added to
    postgresql.conf's.
    """

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        binaries: Path | None = None,
        settings: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self.port = port
        self._wanted_port = port
        self._binaries = binaries
        self._settings = {**SETTINGS, **(settings or {})}
        self._clock = clock or SystemClock()
        self._process: subprocess.Popen[bytes] | None = None
        self._launched_at = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The SQLAlchemy address of the server's one database, with its owner's password."""
        return self.address(USER, password(self.directory))

    def address(self, user: str, password: str) -> str:
        """Return the address by which `user` reaches that database; both are letters and digits."""
        return f"postgresql+psycopg2://{user}:{password}@{HOST}:{self.port}/{DATABASE}"

    @property
    def pid(self) -> int | None:
        """The process id of the server that was started last."""
        return self._process.pid if self._process else None

    def is_alive(self) -> bool:
        """Tell whether the server that was started is still there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server and return once it accepts connections; EmbeddedError if it cannot."""
        if self.is_alive():
            raise EmbeddedError(f"The Postgres server in {self.directory} is already started.")
        account = server_account(self.directory / "data")
        binaries = find_binaries(self._binaries, account)
        try:
            with hold(self.directory, account, self._clock) as cluster:
                initialise(cluster, binaries)
                check(cluster, binaries)
                self.port = choose_port(self.directory / "port", self._wanted_port)
                with uninterrupted():
                    self._process = process = self._launch(cluster, binaries)
            self._wait_until_ready(process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server, with a clean shutdown if it can; do nothing if there is none."""
        if self._process is None:
            return
        for each, patience in _STOP:
            if self.is_alive():
                self._process.send_signal(each)
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                continue
            return
        raise EmbeddedError(f"The Postgres server, process {self.pid}, cannot be stopped.")

    def _launch(self, cluster: DataDirectory, binaries: Binaries) -> "subprocess.Popen[bytes]":
        command = [str(binaries.folder / "postgres"), "-D", cluster.seen("data")]
        since, new = _SINCE
        given = {**self._settings, "port": str(self.port)}
        for name, value in ({**new, **given} if binaries.version >= since else given).items():
            command += ["-c", f"{name}={value}"]
        _keep_previous(self._log)
        self._launched_at = int(self._clock.now().timestamp())
        handle = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as log:
            return subprocess.Popen(
                dies_with_parent(command, on_death=signal.SIGINT, user=cluster.account),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(cluster.handle,),
                env=scrubbed_environment(configuration.environment()),
                cwd="/",
                # Ctrl-C is for the launcher, which stops its services before the database.
                start_new_session=True,
            )

    def _wait_until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = self._clock.monotonic() + _START_PATIENCE
        pid_file = self.directory / "data" / "postmaster.pid"
        while not is_ready(_read(pid_file), process.pid, self._launched_at):
            if process.poll() is not None or self._clock.monotonic() > deadline:
                raise EmbeddedError(
                    f"Postgres did not start in {self.directory}. Its log ends:\n"
                    f"{_tail(self._log)}\nIf the data is damaged, put back a copy of that "
                    "directory, or move it away to begin with an empty database."
                )
            self._clock.wait(Event(), 0.01)

    @property
    def _log(self) -> Path:
        return self.directory / "server.log"


def is_ready(pid_file: str, pid: int, launched_at: int) -> bool:
    """Tell whether the text of postmaster.pid says that this server is ready.

    A killed server leaves its file behind, and in a container the next one may well
    have the same pid: hence the second in which it was launched.
    """
    lines = pid_file.splitlines()
    if len(lines) < _STATUS_LINE:
        return False
    is_this_start = lines[0] == str(pid) and int(lines[2]) >= launched_at
    return is_this_start and lines[_STATUS_LINE - 1].strip() == "ready"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _keep_previous(log: Path) -> None:
    if log.exists():
        log.replace(log.with_suffix(".log.1"))


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
