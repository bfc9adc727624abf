"""The real services as processes on an embedded Postgres, for tests that look from outside."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import make_url

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.core import engine as engines
from headway.db.parsing import files
from headway.db.reads import dag_file_views, dag_views, process_views, run_views
from headway.db.reads.dag_views import DagView
from headway.domain.arguments import JsonValue
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.settings import configuration
from headway.testing.processes import modes
from headway.testing.services.forks import run_command
from headway.testing.services.homes import begin_with_a_database
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import PATIENCE

T = TypeVar("T")

QUICK: Final = {
    "HEADWAY_PARSER_DAG_DIR_LIST_INTERVAL": "0.2",
    "HEADWAY_SCHEDULER_SCHEDULER_IDLE_SLEEP_TIME": "0.25",
    "HEADWAY_WORKER_POLL_INTERVAL": "0.25",
    "HEADWAY_WORKER_KILL_GRACE": "1",
    "HEADWAY_API_PORT": "0",
}
"""Settings under which nobody waits long for a poll, and polls of many stacks take little time."""

_POLL: Final = 0.1
_SERVICES: Final = frozenset({"api", "parser", "scheduler", "worker"})
_CLOCK: Final = SystemClock()
_NEVER: Final = Event()


@dataclass(frozen=True, slots=True)
class Services:
    """Running services: put DAG files into `dags`, trigger runs, and look at what becomes of them.

    Everything that waits does so for a condition, and fails with the services' logs
    when it does not come true in time.
    """

    home: Path
    dags: Path
    environment: Mapping[str, str]
    engine: Engine

    def check_alive(self) -> None:
        """Fail if one of them has ended that was to run on."""

    def until(self, look: Callable[[Connection], T | None], what: str) -> T:
        """Look again and again until that returns something, and return it."""
        deadline = _CLOCK.monotonic() + PATIENCE
        while _CLOCK.monotonic() < deadline:
            with self.engine.connect() as conn:
                found = look(conn)
            if found is not None and found is not False:
                return found
            self.check_alive()
            _CLOCK.wait(_NEVER, _POLL)
        raise AssertionError(f"Not in {PATIENCE:g} s: {what}.\n{self.service_logs()}")

    def trigger(self, dag_id: str, conf: Mapping[str, JsonValue] | None = None) -> StackRun:
        """Create a manual run."""
        with self.engine.begin() as conn:
            run_id = trigger(conn, TriggerRequest(dag_id, conf or {}), _CLOCK.now(), "test")
        return StackRun(self, dag_id, run_id)

    def run(self, dag_id: str, conf: Mapping[str, JsonValue] | None = None) -> StackRun:
        """Create a manual run and wait for its end."""
        return self.trigger(dag_id, conf).wait()

    def backfill(self, dag_id: str, first: datetime, last: datetime) -> list[StackRun]:
        """Create the runs whose interval starts in that range; return them, the oldest first."""
        with self.engine.begin() as conn:
            request = BackfillRequest(dag_id, first, last, {})
            backfill = create_backfill(conn, request, _CLOCK.now(), "test")
            rows = run_views.runs(conn, dag_id)
        found = [row.run_id for row in rows if row.backfill_id == backfill.id]
        return [StackRun(self, dag_id, run_id) for run_id in reversed(found)]

    def runs(self, dag_id: str) -> list[StackRun]:
        """Return the runs that there are, the oldest first."""
        with self.engine.connect() as conn:
            found = run_views.runs(conn, dag_id)
        return [StackRun(self, dag_id, row.run_id) for row in reversed(found)]

    def dag(self, dag_id: str) -> DagView:
        """Return the DAG as the database has it."""
        with self.engine.connect() as conn:
            found = dag_views.dag(conn, dag_id)
        assert found is not None, f"there is no DAG {dag_id}"
        return found

    def wait_for_version(self, dag_id: str, number: int = 1) -> None:
        """Wait until that version of the DAG is in force."""

        def in_force(conn: Connection) -> bool:
            dag = dag_views.dag(conn, dag_id)
            return dag is not None and dag.active and dag.version == number

        self.until(in_force, f"version {number} of {dag_id}")

    def wait_for_import_error(self, path: str) -> str:
        """Wait until the file of that path has an import error, and return it."""
        return self.until(lambda conn: _errors(conn).get(path), f"an import error of {path}")

    def wait_for_no_import_error(self, path: str) -> None:
        """Wait until the file of that path has no import error any more."""
        self.until(lambda conn: path not in _errors(conn), f"{path} without import error")

    def wait_for_parse(self, path: str) -> None:
        """Wait until the file of that path has been parsed, whatever came of it."""
        self.until(lambda conn: _is_parsed(conn, path), f"a parse of {path}")

    def headway(
        self, *arguments: str, given: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run the `headway` command against these services, with these variables besides."""
        return run_command(arguments, {**self.environment, **(given or {})})

    def grant(self, *conn_ids: str) -> None:
        """Let all DAGs read these connections."""
        for conn_id in conn_ids:
            granted = self.headway("connections", "grant", conn_id, "--all-dags")
            assert granted.returncode == 0, granted.stderr

    def service_logs(self) -> str:
        """Return the end of what each service has logged."""
        logs = [self.home / "standalone.log", *sorted((self.home / "services").glob("*.log"))]
        return "\n".join(
            f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-30:])
            for log in logs
            if log.is_file()
        )


@dataclass(frozen=True, slots=True)
class Stack(Services):
    """The services of `headway standalone`."""

    service: "subprocess.Popen[bytes]" = field(repr=False)

    def check_alive(self) -> None:
        """Fail if `standalone` has ended."""
        assert self.service.poll() is None, f"The services have ended.\n{self.service_logs()}"

    def address_of(self, kind: str) -> str:
        """Return the address of the database by which a service of that kind logs in."""
        addresses = (self.home / modes.ADDRESSES).read_text().splitlines()
        return next(
            address for address in addresses if make_url(address).username == f"headway_{kind}"
        )

    def check_end(self) -> None:
        """Check that every service has ended by itself, none of them by force."""
        logs = sorted((self.home / "services").glob("*.log"))
        killed = [log.stem for log in logs if "action=stop" not in _last_line(log)]
        assert (self.service.returncode, killed) == (0, []), self.service_logs()


def environment_for(home: Path, given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of services with their state in `home`, under these settings."""
    inherited = {
        name: value
        for name, value in configuration.environment().items()
        if not name.startswith("HEADWAY_")
    }
    own = {"HEADWAY_HOME": str(home)}
    return {**inherited, **QUICK, **modes.variables(), **(given or {}), **own}


@contextmanager
def running_stack(
    home: Path, dags: Path, given: Mapping[str, str] | None = None, schedulers: int = 1
) -> Iterator[Stack]:
    """Run `headway standalone` with its state in `home`, under the settings that are `given`.

    It has read every file of `dags`, all of them good, when the context begins; after it
    nothing runs any more.
    """
    begin_with_a_database(home)
    environment = environment_for(home, given)
    arguments = ["standalone", "--dags", str(dags), "--schedulers", str(schedulers)]
    with (home / "standalone.log").open("wb") as log:
        service = subprocess.Popen(
            dies_with_parent([sys.executable, modes.standalone(), *arguments]),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    engine = None
    try:
        engine = engines.connect(_address(home, service), name="test", pool_size=5)
        stack = Stack(home, dags, environment, engine, service)
        _wait_until_ready(stack, schedulers)
        yield stack
    finally:
        if engine is not None:
            engine.dispose()
        service.send_signal(signal.SIGTERM)
        service.wait(PATIENCE)
    stack.check_end()


def _address(home: Path, service: "subprocess.Popen[bytes]") -> str:
    file, deadline = home / "database-url", _CLOCK.monotonic() + PATIENCE
    while _CLOCK.monotonic() < deadline and service.poll() is None:
        if file.is_file() and (url := file.read_text()):
            return url
        _CLOCK.wait(_NEVER, _POLL)
    raise AssertionError(f"No database came up.\n{(home / 'standalone.log').read_text()}")


def _wait_until_ready(stack: Stack, schedulers: int) -> None:
    expected = sorted([*_SERVICES - {"scheduler"}, *["scheduler"] * schedulers])
    stack.until(
        lambda conn: sorted(row.kind for row in process_views.processes(conn)) == expected,
        "all services registered",
    )
    for path in sorted(stack.dags.rglob("*.py")):
        stack.wait_for_parse(path.relative_to(stack.dags).as_posix())
    with stack.engine.connect() as conn:
        assert not (errors := _errors(conn)), errors


def _last_line(log: Path) -> str:
    return log.read_text(errors="replace").rstrip().rpartition("\n")[2]


def _errors(conn: Connection) -> dict[str, str]:
    return {problem.relative_path: problem.error for problem in dag_file_views.errors(conn)}


def _is_parsed(conn: Connection, path: str) -> bool:
    row = files.board(conn, ["dags"]).get(files.FileKey("dags", path))
    return row is not None and bool(row.signature)
