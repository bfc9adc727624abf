"""Real scheduler processes and the stand-in worker, as children of the benchmark."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from benchmarks.support.server import Database
from headway.db.access.logins import Login
from headway.runtime.processes.parent_death import dies_with_parent

PROFILES: Final = os.environ.get("HEADWAY_BENCH_PROFILES")
"""A folder for profiles of the schedulers (cProfile) and their costliest statements."""

SETTINGS: Final = {"HEADWAY_SCHEDULER_PARALLELISM": "1000000"}
"""Only what would limit the work is raised; all else is as the defaults have it."""

PATIENCE: Final = 60.0

_ALIVE: Final = text("SELECT count(*) FROM process WHERE kind = :kind AND ended_at IS NULL")
_UNPLANNED: Final = text("""
    SELECT count(*) FROM dag WHERE active AND NOT paused
       AND planned_version_id IS DISTINCT FROM version_id
""")


@dataclass(slots=True)
class Fleet:
    """The services of one database; schedulers may be added."""

    database: Database
    folder: Path
    settings: Mapping[str, str]
    schedulers: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    others: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def pids(self) -> list[int]:
        """The schedulers' process ids."""
        return [process.pid for process in self.schedulers]

    @property
    def wakes(self) -> bool:
        """Whether processes give each other notice."""
        return self.settings.get("HEADWAY_DATABASE_NOTIFY") != "false"

    def add_scheduler(self) -> None:
        """Start one more scheduler, and wait until all have come to rest."""
        number = len(self.schedulers)
        command = [sys.executable, *self._profiler(number), "-m", "headway.cli", "scheduler"]
        url = self.database.urls[Login.SCHEDULER]
        self.schedulers.append(self._start(f"scheduler-{number}", command, url))
        self._until_alive("scheduler", len(self.schedulers))
        self.until(lambda conn: not conn.scalar(_UNPLANNED), "every DAG planned")
        time.sleep(0.5)

    def add_worker(self) -> None:
        """Start the stand-in worker."""
        url = self.database.urls[Login.WORKER]
        command = [sys.executable, "-m", "benchmarks.support.stand_in", url]
        self.others.append(self._start("worker", command, url))
        self._until_alive("worker", 1)

    def until(
        self,
        look: Callable[[Connection], object],
        what: str,
        every: float = 0.02,
        patience: float = PATIENCE,
    ) -> None:
        """Wait until that is true; RuntimeError with the services' last words if it never is."""
        deadline = time.monotonic() + patience
        with self.database.owner.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            while not look(conn):
                died = [
                    each for each in (*self.schedulers, *self.others) if each.poll() is not None
                ]
                if died or time.monotonic() > deadline:
                    raise RuntimeError(f"not reached: {what}.\n{self._last_words()}")
                time.sleep(every)

    def stop(self) -> None:
        """Stop every process."""
        for process in (*self.schedulers, *self.others):
            process.send_signal(signal.SIGTERM)
        for process in (*self.schedulers, *self.others):
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, command: list[str], url: str) -> "subprocess.Popen[bytes]":
        environment = {
            **os.environ,
            **self.settings,
            "HEADWAY_DATABASE_URL": url,
            "HEADWAY_HOME": str(self.folder),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                dies_with_parent(command),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _until_alive(self, kind: str, count: int) -> None:
        self.until(
            lambda conn: conn.scalar(_ALIVE, {"kind": kind}) == count, f"{count} of {kind} alive"
        )

    def _profiler(self, number: int) -> list[str]:
        if not PROFILES:
            return []
        path = Path(PROFILES, f"{self.database.owner.url.database}-{number}.prof")
        return ["-m", "cProfile", "-o", str(path)]

    def _last_words(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{_tail(log)}" for log in logs)


@contextmanager
def fleet(database: Database, settings: Mapping[str, str] | None = None) -> Iterator[Fleet]:
    """Start the stand-in worker; stop it and all that was added when the context ends."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        services = Fleet(database, Path(folder), {**SETTINGS, **(settings or {})})
        try:
            services.add_worker()
            yield services
        finally:
            services.stop()


def _tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
