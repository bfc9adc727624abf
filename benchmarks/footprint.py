"""How small and how quick to start Headway is: one machine, embedded Postgres."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import psutil
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sqlalchemy import text
from sqlalchemy.engine import make_url

from benchmarks.report import Row, times
from headway.db import engine as engines
from headway.db import entries, versions
from headway.db.entries import Entry
from headway.domain.spec import DagSpec, TaskSpec, TimetableSpec
from headway.embedded.cluster import USER, password
from headway.serialization import codec

NAME = "footprint"
REPEAT = times(3)
PYTHON_DAG = """
from headway.sdk import DAG, task
import pendulum

with DAG("first", schedule="@once", start_date=pendulum.datetime(2024, 1, 1, tz="UTC")):
    @task
    def hello():
        print("hello")
    hello()
"""
SPARK_DAG = PYTHON_DAG.replace("@task\n", "@task.pyspark\n").replace(
    'hello():\n        print("hello")', "hello(spark):\n        return spark.range(1000).count()"
)


def run() -> Iterator[Row]:
    """Measure each of the targets of a small footprint."""
    yield _row("headway --help", "s", 0.25, lambda: _seconds(["--help"]), 5)
    with standalone(PYTHON_DAG) as (home, url):
        _store_dags(_owned(url, home), 500)
        environment = {**os.environ, "HEADWAY_HOME": str(home)}
        listing = lambda: _seconds(["dags", "list"], environment)  # noqa: E731
        yield _row("headway dags list, 500 DAGs", "s", 0.5, listing, 5)
    python = [_first_run(PYTHON_DAG) for _ in range(REPEAT)]
    yield Row.at_most(NAME, "start to first Python run", [seconds for seconds, _ in python], "s", 3)
    yield Row.at_most(NAME, "idle memory (PSS), no Spark", [mb for _, mb in python], "MB", 250)
    spark = [_first_run(SPARK_DAG)[0] for _ in range(REPEAT)]
    yield Row.at_most(NAME, "start to first Spark result", spark, "s", 12)
    count = len(_distributions("headway", set()))
    yield Row.at_most(NAME, "distributions without Spark", [count], "packages", 40)


def _row(case: str, unit: str, target: float, measure: Callable[[], float], times: int) -> Row:
    return Row.at_most(NAME, case, [measure() for _ in range(times)], unit, target)


def _seconds(arguments: list[str], environment: dict[str, str] | None = None) -> float:
    started = time.perf_counter()
    command = [sys.executable, "-m", "headway.cli", *arguments]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _first_run(source: str) -> tuple[float, float]:
    """Return the seconds from an empty home to the first successful run, and the memory then."""
    started = time.perf_counter()
    with standalone(source) as (_, url):
        _wait_for_success(url)
        seconds = time.perf_counter() - started
        time.sleep(3)  # let it come to rest
        return seconds, _memory()


@contextmanager
def standalone(source: str) -> Iterator[tuple[Path, str]]:
    with tempfile.TemporaryDirectory() as folder:
        home, files = Path(folder, "home"), Path(folder, "dags")
        files.mkdir()
        (files / "first.py").write_text(source)
        process = subprocess.Popen(
            [sys.executable, "-m", "headway.cli", "standalone", "--dags", str(files)],
            env={**os.environ, "HEADWAY_HOME": str(home)},
            stdout=subprocess.DEVNULL,
        )
        try:
            yield home, _address(home)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def _address(home: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (home / "database-url").is_file() and (url := (home / "database-url").read_text()):
            return url
        time.sleep(0.01)
    raise TimeoutError("standalone did not start within a minute")


def _owned(url: str, home: Path) -> str:
    """Return the address as the owner of the database, who may enter DAGs as a parser does."""
    owner = make_url(url).set(username=USER, password=password(home / "postgres"))
    return owner.render_as_string(hide_password=False)


def _wait_for_success(url: str) -> None:
    """Wait for the first run's success; no connection of this process is left, which has a size."""
    engine, deadline = engines.connect(url), time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            with engine.connect() as conn:
                if conn.scalar(text("SELECT count(*) FROM dag_run WHERE state = 'success'")):
                    return
            time.sleep(0.01)
    finally:
        engine.dispose()
    raise TimeoutError("no run succeeded within two minutes")


def _memory() -> float:
    """Return the memory of the standalone this process has started, in MB, shared parts shared."""
    (launcher,) = psutil.Process().children()
    family = [launcher, *launcher.children(recursive=True)]
    return sum(_pss(process.pid) for process in family) / 1e6


def _pss(pid: int) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _store_dags(url: str, count: int) -> None:
    engine = engines.connect(url)
    tasks = tuple(TaskSpec(task_id=f"task_{n}", operator="empty") for n in range(10))
    with engine.begin() as conn:
        versions.add_code(conn, {"none": {}}, {})
        for number in range(count):
            spec = DagSpec(
                dag_id=f"dag_{number}",
                relative_path="none.py",
                timetable=TimetableSpec(name="null"),
                timezone="UTC",
                tasks=tasks,
            )
            entries.enter(conn, [Entry("elsewhere", "none.py", spec)], paused=True)
            data = codec.encode(spec)
            version = versions.NewVersion(spec, data, codec.fingerprint(data, ""), "none")
            entries.put_in_force(conn, versions.add(conn, [version]))
    engine.dispose()


def _distributions(name: str, seen: set[str]) -> set[str]:
    """Return the distributions that installing `name` without extras brings along."""
    if name in seen:
        return seen
    seen.add(name)
    try:
        wanted = [Requirement(line) for line in requires(name) or []]
    except PackageNotFoundError:
        return seen - {name}
    for requirement in wanted:
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            _distributions(canonicalize_name(requirement.name), seen)
    return seen
