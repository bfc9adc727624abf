"""One play of pods: a release is installed, disturbed while DAGs run, and judged by records."""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, text
from tests.chaos import checker
from tests.chaos.history import History, read_history
from tests.chaos.play import ACTIVE, DAGS, TO_DO
from tests.pods import database, release
from tests.pods.controller import Cluster
from tests.pods.disturbances import Disturbances
from tests.pods.kubelet import Pod, exposed
from tests.pods.manifest import Place
from tests.pods.node import Node, node
from tests.pods.release import Release

from headway.db import engine as engines
from headway.runtime import keyring
from headway.testing import invariants
from headway.testing.images import ROOT, postgres_image
from headway.testing.machine import until
from headway.testing.podman import Podman
from headway.testing.stack import environment_for

DAYS: Final = tuple(f"2013-01-0{day}" for day in range(1, 8))
_CONF: Final = json.dumps({"output": "/data/flights", "picture": False})
_SETTLE_WITHIN: Final = 600.0
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
    engine: Engine
    user: Mapping[str, str] = field(repr=False)
    started: float = field(default_factory=time.monotonic)

    def say(self, what: str) -> None:
        """Print what goes on, and since when."""
        print(f"{time.monotonic() - self.started:6.0f} s  {what}", flush=True)

    def scalar(self, query: str) -> int:
        """Return the number that a query gives."""
        with self.engine.connect() as conn:
            return int(conn.execute(text(query)).scalar_one())

    def settle(self, what: str) -> None:
        """Wait until all pods are as they are wanted."""
        until(self.cluster.settled, f"{what}: pods as wanted", _SETTLE_WITHIN)
        self.say(f"{what}: done")

    def headway(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Begin a user's command."""
        command = [sys.executable, "-m", "headway.cli", *arguments]
        log = (self.root / "user.log").open("ab")
        with log:
            return subprocess.Popen(command, env=dict(self.user), stdout=log, stderr=log)


def play(podman: Podman, options: Options) -> Result:
    """Do all of it; nothing is left running afterwards."""
    postgres = postgres_image(podman)
    with ExitStack() as ending:
        newest = release.built(podman)
        first = ending.enter_context(release.earlier(podman, options.earlier))
        stage, start = ending.enter_context(_stage(podman, options, postgres, first))
        backfill = _begin_load(stage)
        disturbances = Disturbances(stage, options)
        disturbances.upgrade(newest)
        disturbances.rest()
        end = _end_schedules(stage, start)
        over = _come_to_rest(stage, backfill)
        result = _judge(stage, options, start, end)
        result.done = disturbances.done
        if not over:
            result.violations.append(f"runs were open {_OVER_WITHIN:g} s after the schedules' end")
        if backfill.wait() != 0:
            result.violations.append(f"the backfill ended with status {backfill.returncode}")
    pods = stage.cluster.every_pod()
    result.violations += [complaint for pod in pods for complaint in pod.complaints]
    result.violations += [said for pod in pods for said in _tracebacks(pod)]
    result.restarts = sum((pod.restarts for pod in pods), Counter())
    result.pods = len(pods)
    return result


@contextmanager
def _stage(
    podman: Podman, options: Options, postgres: str, first: Release
) -> Iterator[tuple[Stage, datetime]]:
    """Give the cluster with a release whose pods are all ready and whose DAGs are in force."""
    root = options.root
    secrets = database.new_secrets(root)
    secrets["headway-keys"] = {"secret-keys": keyring.new_key().to_line()}
    claims = {name: root / "claims" / name for name in ("dags", "logs", "shared")}
    hosts: dict[str, str] = {}
    place = Place(root / "pods", secrets, claims, hosts)
    start = datetime.fromtimestamp(int(datetime.now(UTC).timestamp()), UTC)
    _write_dags(claims["dags"])
    _write_place(claims["dags"], start, None)
    claims["shared"].mkdir(parents=True)
    (claims["shared"] / "records.jsonl").touch()
    (claims["shared"] / "records.jsonl").chmod(0o666)
    with ExitStack() as ending:
        here = ending.enter_context(node(podman, place))
        address = ending.enter_context(_postgres(here, podman, postgres))
        hosts[release.DATABASE_HOST] = address
        superuser = secrets["postgres"]["password"]
        engine = engines.connect(
            database.url(address, database.SUPERUSER, superuser), name="pods", pool_size=3
        )
        ending.callback(engine.dispose)
        user = database.url(address, "headway_user", secrets["headway-user"]["password"])
        cluster = Cluster(here)
        environment = environment_for(root / "user", {"HEADWAY_DATABASE_URL": user})
        stage = Stage(root, cluster, engine, environment)
        ending.enter_context(cluster.running())
        cluster.apply(first.objects(root, options.spark_workers))
        stage.settle("helm install")
        wanted = len(DAGS) + 1
        until(lambda: stage.scalar(str(ACTIVE)) == wanted, "all DAGs in force")
        yield stage, start


@contextmanager
def _postgres(here: Node, podman: Podman, image: str) -> Iterator[str]:
    """Run the database's pod; give its address."""
    pod = Pod(here, "postgres", database.template(podman, image), "0")
    pod.begin()
    try:
        until(lambda: database.answers(pod.address, here.place.secrets), "Postgres in its pod")
        database.prepare(pod.address, here.place.secrets)
        yield pod.address
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
        f"RECORDS = '/data/records.jsonl'\nLEASE = {release.LEASE}\n"
        f"START = {int(start.timestamp())}\nEND = {last}\n"
        "QUEUE = 'plain'\nSPARK_QUEUE = 'default'\n"
    )
    draft.replace(folder / "place.py")


def _begin_load(stage: Stage) -> "subprocess.Popen[bytes]":
    """Run the flights of a week while everything else goes on."""
    days = ("--from", DAYS[0], "--to", DAYS[-1])
    return stage.headway("backfill", "create", "flights_daily", *days, "--conf", _CONF)


def _end_schedules(stage: Stage, start: datetime) -> datetime:
    """Have the schedules end a little later; return when."""
    end = datetime.fromtimestamp(int(time.time()) + _LAST_INTERVALS, UTC)
    _write_place(stage.root / "claims" / "dags", start, end)
    return end


def _come_to_rest(stage: Stage, backfill: "subprocess.Popen[bytes]") -> bool:
    """Wait until all runs have ended; return whether they have."""
    deadline = time.monotonic() + _OVER_WITHIN
    while stage.scalar(str(TO_DO)) != 0 or backfill.poll() is None:
        stage.cluster.check()
        if time.monotonic() > deadline:
            backfill.kill()
            return False
        time.sleep(1)
    stage.say("all runs have ended")
    return True


def _judge(stage: Stage, options: Options, start: datetime, end: datetime) -> Result:
    """Look at what happened while all pods still run."""
    import verify  # of the example; shares no code with the pipeline

    whole = read_history(stage.engine, options.root / "claims" / "shared" / "records.jsonl")
    history = History(
        whole.records,
        [it for it in whole.attempts if it.task.dag_id in DAGS],
        [it for it in whole.runs if it.dag_id in DAGS],
        [it for it in whole.skipped if it.dag_id in DAGS],
    )
    result = Result(executions=checker.executions(history))
    result.violations += checker.violations(history, checker.Expected(start, end, DAGS, set()))
    result.violations += invariants.violations(stage.engine)
    output = options.root / "claims" / "shared" / "flights"
    result.violations += verify.compare(output, list(DAYS))
    for day in DAYS:
        summary = json.loads((output / "summary" / f"day={day}.json").read_text())
        result.flights.append((day, summary["flights"]))
    for pod in stage.cluster.pods():
        for name in pod.containers:
            if (seen := pod.seen(name)) is not None:
                result.violations += [f"{pod.name}-{name}: {it}" for it in exposed(seen)]
    result.outcomes = Counter(str(it.outcome) for it in whole.attempts)
    result.by_dag = Counter(it.task.dag_id for it in whole.records if it.what == "start")
    return result


def _tracebacks(pod: Pod) -> Iterator[str]:
    for log in pod.logs():
        if count := log.read_text(errors="replace").count("Traceback (most recent call last)"):
            yield f"{pod.name}: {log.stem} has logged {count} tracebacks"
