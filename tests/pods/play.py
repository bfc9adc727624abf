"""One play of pods: a release is installed, disturbed while DAGs run, and judged by records."""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, TextClause
from tests.chaos import checker
from tests.chaos.history import History, read_history
from tests.chaos.play import ACTIVE, DAGS, TO_DO
from tests.chaos.scene import LEASE
from tests.chart.rendering import Object
from tests.pods import database, release
from tests.pods.controller import Cluster
from tests.pods.disturbances import Disturbances
from tests.pods.kubelet import Pod, exposed
from tests.pods.manifest import Place
from tests.pods.node import Node, node

from headway.db.core import engine as engines
from headway.runtime.secrets import keyring
from headway.testing.containers.images import ROOT, postgres_image
from headway.testing.containers.podman import Podman
from headway.testing.database import invariants
from headway.testing.services.stack import environment_for
from headway.testing.time.clock import until

_DAYS: Final = tuple(f"2013-01-0{day}" for day in range(1, 8))
_FEW_DAYS: Final = _DAYS[:2]
_CONF: Final = json.dumps({"output": "/data/flights", "picture": False})
_LIMITS_EVERY: Final = 2.0
_LOOK: Final = 0.2
_SETTLE_WITHIN: Final = 900.0
_OVER_WITHIN: Final = 600.0
_LAST_INTERVALS: Final = 30
"""Seconds from the last disturbance to the end of the schedules."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is played, and where all is kept that comes of it."""

    root: Path
    earlier: str
    """The revision that is installed first, and upgraded."""

    short: bool

    @property
    def spark_workers(self) -> int:
        """How many workers with a Spark of their own there are: each takes a core to start."""
        return 1 if self.short else 2

    @property
    def days(self) -> tuple[str, ...]:
        """The days whose flights a backfill brings."""
        return _FEW_DAYS if self.short else _DAYS

    @property
    def backfill(self) -> tuple[str, ...]:
        """The command that creates the backfill, without the program's name."""
        days = ("--from", self.days[0], "--to", self.days[-1])
        return ("backfill", "create", "flights_daily", *days, "--conf", _CONF)


@dataclass(slots=True)
class Result:
    """What came of it."""

    violations: list[str] = field(default_factory=list)
    executions: int = 0
    done: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    by_dag: Counter[str] = field(default_factory=Counter)
    restarts: Counter[str] = field(default_factory=Counter)
    flights: list[tuple[str, int]] = field(default_factory=list)
    pods: int = 0


@dataclass(slots=True)
class Stage:
    """The cluster with a database, and what looks into it from outside."""

    root: Path
    cluster: Cluster
    postgres: Pod
    engine: Engine
    user: Mapping[str, str] = field(repr=False)
    violations: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    _limits: set[str] = field(default_factory=set)
    _looked_at: float = 0.0

    @property
    def records(self) -> Path:
        """What tasks have written while they ran."""
        return self.root / "claims" / "shared" / "records.jsonl"

    def say(self, what: str) -> None:
        """Print what goes on, and since when."""
        print(f"{time.monotonic() - self.started:6.0f} s  {what}", flush=True)

    def scalar(self, query: TextClause, **given: object) -> float:
        """Return the number that a query gives."""
        with self.engine.connect() as conn:
            return float(conn.execute(query, given).scalar_one())

    def look(self) -> None:
        """Fail if nobody looks after a pod; note limits that are exceeded now."""
        self.cluster.check()
        if time.monotonic() - self._looked_at > _LIMITS_EVERY:
            self._looked_at = time.monotonic()
            found = invariants.violations(self.engine, invariants.LIMITS)
            self.violations += sorted(set(found) - self._limits)
            self._limits.update(found)

    def rest(self, seconds: float) -> None:
        """Look on for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(_LOOK)

    def settle(self, what: str) -> None:
        """Wait until all pods are as they are wanted, and a task is begun after that."""
        self._until(self.cluster.settled, f"{what}: pods as wanted")
        before = self._begun()
        self.violations += self._exposed()
        self._until(lambda: self._begun() > before, f"{what}: a task that is begun")
        self.say(f"{what}: done")

    def install(self, objects: Sequence[Object]) -> None:
        """Install a release, and wait until all DAGs are in force."""
        self.cluster.apply(objects)
        wanted = "helm install: pods as wanted"
        until(self.cluster.settled, wanted, _SETTLE_WITHIN, self.cluster.unready)
        self._until(lambda: self.scalar(ACTIVE) == len(DAGS) + 1, "all DAGs in force")
        self.say("helm install: done")

    @contextmanager
    def command(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Begin a user's command; it is gone when the context ends."""
        command = [sys.executable, "-m", "headway.cli", *arguments]
        with (self.root / "user.log").open("ab") as log:
            process = subprocess.Popen(command, env=dict(self.user), stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def every_pod(self) -> list[Pod]:
        """Return all pods that there were and are."""
        return [*self.cluster.every_pod(), self.postgres]

    def _until(self, look: Callable[[], bool], what: str) -> None:
        def looked() -> bool:
            self.look()
            return look()

        until(looked, what, _SETTLE_WITHIN, self.cluster.unready)

    def _begun(self) -> int:
        return self.records.read_text().count('"what": "start"')

    def _exposed(self) -> Iterator[str]:
        for pod in self.cluster.pods():
            for name in pod.containers:
                if (seen := pod.seen(name)) is None:
                    yield f"{pod.name}: nothing is known of {name}"
                else:
                    yield from (f"{pod.name}: {name}: {exposure}" for exposure in exposed(seen))


def play(podman: Podman, options: Options) -> Result:
    """Do all of it; nothing is left running afterwards."""
    postgres = postgres_image(podman)
    with ExitStack() as ending:
        newest = release.built(podman)
        first = ending.enter_context(release.earlier(podman, options.earlier))
        start = datetime.fromtimestamp(int(time.time()), UTC)
        stage = ending.enter_context(_stage(podman, options, postgres, start))
        stage.install(first.objects(options.root, options.spark_workers))
        backfill = ending.enter_context(stage.command(*options.backfill))
        disturbances = Disturbances(stage, options)
        disturbances.upgrade(newest)
        disturbances.all_others()
        end = _end_schedules(stage, start)
        _come_to_rest(stage, backfill)
        result = _judge(stage, options.days, start, end)
        result.done = disturbances.done
    pods = stage.every_pod()
    result.violations += [
        *stage.violations,
        *(complaint for pod in pods for complaint in pod.complaints),
        *(f"{pod.name} was never stopped" for pod in pods if not pod.gone),
        *(said for pod in pods for said in _tracebacks(pod.logs())),
        *_tracebacks([options.root / "user.log"]),
    ]
    result.restarts = sum((pod.restarts for pod in pods), Counter())
    result.pods = len(pods)
    return result


@contextmanager
def _stage(podman: Podman, options: Options, postgres: str, start: datetime) -> Iterator[Stage]:
    """Give a cluster with a database and nothing else, whose pods go when the context ends."""
    root = options.root
    secrets = database.new_secrets(root)
    secrets["headway-keys"] = {"secret-keys": keyring.new_key().to_line()}
    claims = {name: root / "claims" / name for name in ("dags", "logs", "shared")}
    hosts: dict[str, str] = {}
    place = Place(root / "pods", secrets, claims, hosts)
    _write_dags(claims["dags"])
    _write_place(claims["dags"], start, None)
    claims["shared"].mkdir(parents=True)
    (claims["shared"] / "records.jsonl").touch()
    (claims["shared"] / "records.jsonl").chmod(0o666)
    with ExitStack() as ending:
        here = ending.enter_context(node(podman, place))
        server = ending.enter_context(_postgres(here, podman, postgres))
        hosts[release.DATABASE_HOST] = server.address
        superuser = secrets["postgres"]["password"]
        engine = engines.connect(
            database.url(server.address, database.SUPERUSER, superuser), name="pods", pool_size=3
        )
        ending.callback(engine.dispose)
        user = database.url(server.address, "headway_user", secrets["headway-user"]["password"])
        environment = environment_for(root / "user", {"HEADWAY_DATABASE_URL": user})
        cluster = ending.enter_context(Cluster(here).running())
        yield Stage(root, cluster, server, engine, environment)


@contextmanager
def _postgres(here: Node, podman: Podman, image: str) -> Iterator[Pod]:
    """Run the database's pod."""
    pod = Pod(here, "postgres", database.template(podman, image), "0")
    pod.begin()
    try:
        until(lambda: database.answers(pod.address, here.place.secrets), "Postgres in its pod")
        database.prepare(pod.address, here.place.secrets)
        yield pod
    finally:
        pod.leave()
        until(lambda: pod.gone, "the end of Postgres")


def _write_dags(folder: Path) -> None:
    shutil.copytree(ROOT / "tests" / "chaos" / "dags", folder)
    shutil.copytree(ROOT / "examples" / "flights" / "dags", folder, dirs_exist_ok=True)


def _write_place(folder: Path, start: datetime, end: datetime | None) -> None:
    """Say to the DAG files when schedules start and end, and which queues there are."""
    last = int(end.timestamp()) if end else int(start.timestamp()) + 86400
    draft = folder / "place.draft"
    draft.write_text(
        f"RECORDS = '/data/records.jsonl'\nLEASE = {LEASE}\n"
        f"START = {int(start.timestamp())}\nEND = {last}\n"
        "QUEUE = 'plain'\nSPARK_QUEUE = 'default'\n"
    )
    draft.replace(folder / "place.py")


def _end_schedules(stage: Stage, start: datetime) -> datetime:
    """Have the schedules end a little later; return when."""
    end = datetime.fromtimestamp(int(time.time()) + _LAST_INTERVALS, UTC)
    _write_place(stage.root / "claims" / "dags", start, end)
    return end


def _come_to_rest(stage: Stage, backfill: "subprocess.Popen[bytes]") -> None:
    """Wait until all runs have ended; note it if they do not, or the backfill ends badly."""
    deadline = time.monotonic() + _OVER_WITHIN
    while stage.scalar(TO_DO) != 0 or backfill.poll() is None:
        if time.monotonic() > deadline:
            what = f"runs were open {_OVER_WITHIN:g} s after the schedules' end"
            stage.violations.append(what)
            return
        stage.rest(1)
    stage.say("all runs have ended")
    if backfill.returncode != 0:
        stage.violations.append(f"the backfill ended with status {backfill.returncode}")


def _judge(stage: Stage, days: Sequence[str], start: datetime, end: datetime) -> Result:
    """Look at what happened while all pods still run."""
    import verify  # of the example; shares no code with the pipeline

    whole = read_history(stage.engine, stage.records)
    history = History(
        whole.records,
        [attempt for attempt in whole.attempts if attempt.task.dag_id in DAGS],
        [run for run in whole.runs if run.dag_id in DAGS],
        [skipped for skipped in whole.skipped if skipped.dag_id in DAGS],
    )
    expected = checker.Expected(start, end, DAGS, set())
    result = Result(executions=checker.executions(history))
    result.violations += checker.violations(history, expected)
    flights = History(
        [], [attempt for attempt in whole.attempts if attempt.task.dag_id not in DAGS], [], []
    )
    result.violations += checker.after_success(flights, expected)
    result.violations += invariants.violations(stage.engine)
    output = stage.root / "claims" / "shared" / "flights"
    result.violations += verify.compare(output, list(days))
    for day in days:
        summary = output / "summary" / f"day={day}.json"
        if summary.exists():
            result.flights.append((day, json.loads(summary.read_text())["flights"]))
    result.outcomes = Counter(str(attempt.outcome) for attempt in whole.attempts)
    result.by_dag = Counter(
        record.task.dag_id for record in whole.records if record.what == "start"
    )
    return result


def _tracebacks(logs: Iterable[Path]) -> Iterator[str]:
    for log in logs:
        if count := log.read_text(errors="replace").count("Traceback (most recent call last)"):
            yield f"{log.parent.name}: {log.stem} has logged {count} tracebacks"
