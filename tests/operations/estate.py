"""What operations happen to: schedulers, parsers and workers that run DAGs all the time."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.chaos import checker
from tests.chaos.history import History, read_history
from tests.chaos.scene import LEASE, SETTINGS
from tests.chaos.services import Fleet, Service

from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.secrets import keyring
from headway.testing.database import invariants, logins
from headway.testing.services.stack import environment_for
from headway.testing.time.clock import until

SECONDS: Final = 50
"""How long the schedules of the DAGs last."""

KEYS: Final = "secret-keys"
"""The file of the keys that encrypt variables, in the root."""

KINDS: Final = ("parser", "scheduler", "worker")
DAGS: Final = frozenset({"short", "retried", "long", "skips"})
"""The DAGs of chaos that need no Spark."""

CHAOS_DAGS: Final = Path(__file__).parents[1] / "chaos" / "dags"
_SPARK_FROM: Final = "def beat_from_spark"
_CLOCK: Final = SystemClock()
_ALIVE: Final = text("SELECT count(*) FROM process WHERE ended_at IS NULL")
_ACTIVE: Final = text("SELECT count(*) FROM dag WHERE active")
_OPEN: Final = text("""
    SELECT (SELECT count(*) FROM dag_run WHERE ended_at IS NULL)
         + (SELECT count(*) FROM dag WHERE next_interval_start IS NOT NULL)
""")
_WITHIN: Final = 120.0


@dataclass(slots=True)
class Estate:
    """Services on a database, and what their tasks have written."""

    root: Path
    url: str
    """The address by which the owner logs in."""

    start: datetime
    end: datetime
    fleet: Fleet
    violations: list[str] = field(default_factory=list)

    @property
    def records(self) -> Path:
        """What tasks have written while they ran."""
        return self.root / "records.jsonl"

    def begun(self) -> int:
        """Return how many attempts have been begun."""
        return self.records.read_text().count('"what": "start"')

    def scalar(self, query: Any, **given: object) -> Any:
        """Return a value of the database; None while it is away."""
        engine = engines.connect(self.url, name="operations", pool_size=1)
        try:
            with engine.connect() as conn:
                return conn.execute(query, given).scalar_one()
        except DBAPIError as error:
            if not engines.is_transient(error):
                raise
            return None
        finally:
            engine.dispose()

    def until(self, look: Callable[[], object], what: str, within: float = _WITHIN) -> float:
        """Keep all services running until that is true; return the seconds it took."""
        began = time.monotonic()

        def looked() -> bool:
            self.fleet.keep()
            return bool(look())

        until(looked, what, within)
        return time.monotonic() - began

    def rest(self, seconds: float) -> None:
        """Keep all services running for so long."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, "some rest", seconds + _WITHIN)

    def until_busy(self, attempts: int = 5) -> float:
        """Wait until so many attempts more are begun, or all runs have ended meanwhile.

        Return the seconds it took.
        """
        before = self.begun()

        def busy() -> bool:
            return self.begun() >= before + attempts or self.scalar(_OPEN) == 0

        return self.until(busy, f"{attempts} attempts more")

    def come_to_rest(self) -> History:
        """Wait until all runs have ended, stop all services, and return what has happened."""
        self.until(lambda: self.scalar(_OPEN) == 0, "the end of all runs", 300.0)
        self.fleet.stop(60.0)
        engine = engines.connect(self.url, name="operations", pool_size=2)
        try:
            self.violations += invariants.violations(engine)
            return read_history(engine, self.records)
        finally:
            engine.dispose()

    def replace(self, old: Service, new: Service) -> None:
        """Start a service beside another one, and end that one once the new one has registered."""
        before = self.scalar(_ALIVE)
        new.start()
        self.fleet.services.append(new)
        self.until(lambda: self.scalar(_ALIVE) == before + 1, f"{new.name} has registered")
        self.retire(old)

    def retire(self, old: Service) -> None:
        """Have a service end in good order, as systemd and Kubernetes do."""
        self.fleet.services.remove(old)
        alone = Fleet(_CLOCK, [old])
        alone.stop(60.0)
        self.fleet.unexpected += alone.unexpected

    def judge(self, history: History) -> list[str]:
        """Return all that is wrong: `violations` of chaos, and ends that nobody wanted."""
        expected = checker.Expected(self.start, self.end, DAGS, set())
        logged = [
            f"{one.name} has logged a traceback" for one in self.fleet.services if _has_failed(one)
        ]
        return [
            *self.violations,
            *self.fleet.unexpected,
            *logged,
            *checker.violations(history, expected),
        ]


@contextmanager
def estate(
    root: Path, url: str, of_kind: Mapping[str, str], python: str = sys.executable
) -> Iterator[Estate]:
    """Give two services of each kind that log in by the addresses `of_kind`.

    They run DAGs whose schedules have begun when the context does, and last for SECONDS.
    """
    start = datetime.fromtimestamp(int(time.time()), UTC)
    end = start + timedelta(seconds=SECONDS)
    _write_dags(root, start, end)
    (root / KEYS).write_text(f"{keyring.new_key('first').to_line()}\n")
    (root / KEYS).chmod(0o600)
    services = [
        service(root, f"{kind}-{number}", kind, of_kind[kind], python)
        for kind in KINDS
        for number in (1, 2)
    ]
    made = Estate(root, url, start, end, Fleet(_CLOCK, services))
    try:
        made.fleet.start()
        made.until(lambda: made.scalar(_ACTIVE) == len(DAGS), "all DAGs in force")
        made.until(lambda: made.scalar(_ALIVE) == len(services), "all services")
        made.until_busy()
        yield made
    finally:
        made.fleet.stop(1.0)


def run_headway(its: Estate, *words: str, given: str = "") -> str:
    """Run a command of a user, with something on its stdin; return what it prints, or fail."""
    url = logins.address(its.url, Login.USER)
    keys = {"HEADWAY_DATABASE_URL": url, "HEADWAY_SECRETS_KEYS_FILE": str(its.root / KEYS)}
    done = subprocess.run(
        [sys.executable, "-m", "headway.cli", *words],
        env=environment_for(its.root / "user", keys),
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"headway {' '.join(words)}: {done.stderr}"
    return done.stdout


def service(root: Path, name: str, kind: str, url: str, python: str = sys.executable) -> Service:
    """Return a service with a home of its own, not started yet."""
    home = root / name
    home.mkdir()
    dags = str(root / "dags")
    own = {
        **SETTINGS,
        "HEADWAY_PARSER_DAGS": dags,
        "HEADWAY_DATABASE_URL": url,
        "HEADWAY_SECRETS_KEYS_FILE": str(root / KEYS),
    }
    variables = environment_for(home, own)
    return Service(name, kind, variables, root / f"{name}.log", python=python)


def begun_twice(history: History, ended_before: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Tasks that ran again although they had ended with success before."""
    counts: dict[tuple[str, ...], int] = {}
    for record in history.records:
        if record.what == "end":
            key = tuple(map(str, record.task))
            counts[key] = counts.get(key, 0) + 1
    for task in ended_before:
        if counts.get(task, 0) > 1:
            yield f"{' '.join(task)} had ended, and ran again"


def _has_failed(it: Service) -> bool:
    return "Traceback (most recent call last)" in it.logged()


def _write_dags(root: Path, start: datetime, end: datetime) -> None:
    shutil.copytree(CHAOS_DAGS, root / "dags")
    pipelines = root / "dags" / "pipelines.py"
    pipelines.write_text(pipelines.read_text().partition(_SPARK_FROM)[0])
    (root / "records.jsonl").touch()
    (root / "dags" / "place.py").write_text(
        f"RECORDS = {str(root / 'records.jsonl')!r}\nLEASE = {LEASE}\n"
        f"START = {int(start.timestamp())}\nEND = {int(end.timestamp())}\n"
        'QUEUE = SPARK_QUEUE = "default"\n'
    )
