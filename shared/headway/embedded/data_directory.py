"""The directory of a Postgres server: held by one server at a time, made once, checked."""

import fcntl
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from headway.domain.errors import EmbeddedError
from headway.embedded.account import give
from headway.embedded.binaries import Binaries
from headway.runtime.daemon.clock import Clock
from headway.runtime.processes.starting import run_to_end

USER: Final = "headway"
DATABASE: Final = "postgres"

_LOCK_PATIENCE: Final = 5.0
"""How long the server of a launcher that was killed may take to shut down."""


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """A directory that no other server uses: `data`, `password`, `port` and `server.log`.

    `handle` is the open directory with a lock on it.  A server that inherits it keeps
    the lock until its last process has ended, whatever became of the one that started it.
    """

    directory: Path
    handle: int
    account: str | None

    @property
    def data(self) -> Path:
        """The folder that Postgres itself fills."""
        return self.directory / "data"

    def seen(self, name: str) -> str:
        """Return the path under which a program of the account reaches the file `name`.

        Another account may be barred from a folder above, root's home for one; the
        open handle leads it past them.
        """
        if self.account is not None and sys.platform == "linux":
            return f"/proc/self/fd/{self.handle}/{name}"
        return str(self.directory / name)


@contextmanager
def hold(directory: Path, account: str | None, clock: Clock) -> Iterator[DataDirectory]:
    """Lock `directory`, made if it is absent; EmbeddedError when a server runs in it."""
    try:
        _prepare(directory, account)
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(directory, handle, clock)
            yield DataDirectory(directory, handle, account)
        finally:
            os.close(handle)
    except OSError as error:
        raise EmbeddedError(
            f"The database cannot be kept in {directory}: {error}. Name a directory that this "
            "account may write to, or start as the account that made it."
        ) from error


def initialise(cluster: DataDirectory, binaries: Binaries) -> None:
    """Make a new cluster, all or nothing, unless the directory holds one."""
    if cluster.data.exists():
        return
    unfinished = cluster.directory / "data.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    _write_password(cluster)
    result = run_to_end([
        str(binaries.folder / "initdb"),
        f"--pgdata={cluster.seen(unfinished.name)}",
        f"--username={USER}",
        f"--pwfile={cluster.seen('password')}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--data-checksums",
        "--no-instructions",
    ], user=cluster.account, cwd="/", holds=(cluster.handle,))  # fmt: skip
    if result.returncode != 0:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise EmbeddedError(
            f"No database could be made in {cluster.directory}. initdb said:\n"
            f"{result.stdout.strip()}"
        )
    unfinished.rename(cluster.data)


def check(cluster: DataDirectory, binaries: Binaries) -> None:
    """Raise EmbeddedError unless the data is of a version that `binaries` can serve."""
    try:
        found = (cluster.data / "PG_VERSION").read_text("ascii").strip()
        password(cluster.directory)
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddedError(
            f"The database in {cluster.directory} is damaged: {error}. Put back a copy of that "
            "directory, or move it away to begin with an empty database."
        ) from error
    if found != str(binaries.version):
        raise EmbeddedError(
            f"The database in {cluster.directory} was made by Postgres {found}, and the programs "
            f"in {binaries.folder} are version {binaries.version}. Use those of Postgres {found}, "
            "or move the directory away to begin with an empty database."
        )


def password(directory: Path) -> str:
    """Return the password of the one user that a new cluster has."""
    return (directory / "password").read_text("ascii").strip()


def _prepare(directory: Path, account: str | None) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (directory / "password").exists():
        return
    if any(directory.iterdir()):
        raise EmbeddedError(
            f"The directory {directory} is not empty and holds no database of Headway; "
            "name another one."
        )
    directory.chmod(0o700)
    give(directory, account)


def _lock(directory: Path, handle: int, clock: Clock) -> None:
    deadline = clock.monotonic() + _LOCK_PATIENCE
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() > deadline:
                raise EmbeddedError(_in_use(directory)) from None
        clock.wait(Event(), 0.05)


def _in_use(directory: Path) -> str:
    try:
        pid = (directory / "data" / "postmaster.pid").read_text().split("\n", 1)[0]
        who = f"a Postgres server, process {pid},"
    except OSError:
        who = "another process"
    return (
        f"The database in {directory} is in use: {who} holds it. Stop what started that, "
        "or name another directory."
    )


def _write_password(cluster: DataDirectory) -> None:
    path = cluster.directory / "password"
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(secrets.token_urlsafe(24) + "\n", "ascii")
    give(path, cluster.account)
