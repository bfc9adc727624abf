"""Parser, scheduler and worker as real processes on one database, and what they use."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from benchmarks.support.meter import family_cpu_seconds
from benchmarks.support.server import Database
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.access.logins import Login
from headway.db.core import notices
from headway.runtime.processes.parent_death import dies_with_parent

PATIENCE: Final = 60.0
LOGINS: Final = {
    "parser": Login.PARSER,
    "scheduler": Login.SCHEDULER,
    "worker": Login.WORKER,
}

_PLANNED: Final = text("""
    SELECT count(*) FROM dag
     WHERE active AND NOT paused AND planned_version_id IS NOT DISTINCT FROM version_id
""")
_ALIVE: Final = text("SELECT count(DISTINCT kind) FROM process WHERE ended_at IS NULL")
_STATE: Final = text("SELECT state FROM dag_run WHERE run_id = :run_id")


@dataclass(slots=True)
class RealServices:
    """The services of one database, with all defaults but for the folder of DAG files."""

    database: Database
    folder: Path
    services: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def files(self) -> Path:
        """The folder of DAG files."""
        return self.folder / "dags"

    def start(self, name: str, *profiler: str) -> None:
        """Start a service, below a profiler's command if one is given."""
        environment = {
            **os.environ,
            "HEADWAY_DATABASE_URL": self.database.urls[LOGINS[name]],
            "HEADWAY_HOME": str(self.folder / "home"),
            "HEADWAY_PARSER_DAGS": str(self.files),
            "HEADWAY_PARSER_DAGS_ARE_PAUSED_AT_CREATION": "false",
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.services[name] = subprocess.Popen(
                dies_with_parent([*profiler, sys.executable, "-m", "headway.cli", name]),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def settle(self, dags: int, patience: float = PATIENCE) -> None:
        """Wait until every service and so many DAGs are there, and nothing is left to do."""
        self.until(lambda conn: conn.scalar(_ALIVE) == len(self.services), "all services")
        planned = f"{dags} DAGs in force"
        self.until(lambda conn: conn.scalar(_PLANNED) == dags, planned, patience)
        time.sleep(2.0)

    def run(self, dag_id: str, run_id: str) -> None:
        """Trigger a run as a user does, and wait until it has succeeded."""
        self.trigger(dag_id, run_id)
        self.until(
            lambda conn: conn.scalar(_STATE, {"run_id": run_id}) in ("success", "failed"),
            f"the end of {run_id}",
        )

    def trigger(self, dag_id: str, run_id: str) -> None:
        """Trigger a run as a user does."""
        request = TriggerRequest(dag_id, run_id=run_id)
        with self.database.owner.begin() as conn:
            trigger(conn, request, datetime.now(UTC), actor="benchmark")
        notices.send(self.database.owner, [notices.SCHEDULER])

    def until(
        self, look: Callable[[Connection], object], what: str, patience: float = PATIENCE
    ) -> None:
        """Wait until that is true; RuntimeError with the services' last words if it never is."""
        deadline = time.monotonic() + patience
        with self.database.owner.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            while not look(conn):
                died = [name for name, each in self.services.items() if each.poll() is not None]
                if died or time.monotonic() > deadline:
                    raise RuntimeError(f"not reached: {what}.\n{self._last_words()}")
                time.sleep(0.02)

    def cpu(self) -> dict[str, float]:
        """Return the seconds of CPU so far of each service's processes, and of Postgres.

        Processes that have ended count for the one that has waited for them.
        """
        roots = {name: each.pid for name, each in self.services.items()}
        roots["postgres"] = self.database.postmaster
        return {name: family_cpu_seconds(pid) for name, pid in roots.items()}

    def stop(self) -> None:
        """Stop every service."""
        for process in self.services.values():
            process.terminate()
        for process in self.services.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _last_words(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text()[-2000:]}" for log in logs)


@contextmanager
def real_services(database: Database) -> Iterator[RealServices]:
    """Make a folder for the services of a database; stop them when the context ends."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        services = RealServices(database, Path(folder))
        services.files.mkdir()
        try:
            yield services
        finally:
            services.stop()
