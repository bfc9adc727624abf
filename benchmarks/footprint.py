"""How small and how quick to start Headway is: one machine, embedded Postgres."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import psutil
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sqlalchemy import text

from benchmarks.support.report import Row
from benchmarks.support.turns import turns
from headway.db.core import engine as engines

NAME = "footprint"
REPEAT = 3
API_MEGABYTES = 25
HAS_API = find_spec("headway_api") is not None
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
    python = [_first_run(PYTHON_DAG) for _ in turns(REPEAT)]
    seconds, idle, asked = zip(*python, strict=True)
    yield Row.at_most(NAME, "start to first Python run", seconds, "s", 3)
    most = 250 + (API_MEGABYTES if HAS_API else 0)
    yield Row.at_most(NAME, "idle memory (PSS), no Spark", idle, "MB", most)
    if HAS_API:
        yield Row.of(NAME, "idle memory (PSS), no Spark", "after a request to the API", asked, "MB")
    spark = [_first_run(SPARK_DAG)[0] for _ in turns(REPEAT)]
    yield Row.at_most(NAME, "start to first Spark result", spark, "s", 12)
    count = len(_distributions("headway", set()))
    yield Row.at_most(NAME, "distributions without Spark", [count], "packages", 40)


def _first_run(source: str) -> tuple[float, float, float]:
    """Return the seconds from an empty home to the first successful run, and the memory then.

    The last is the memory after a request to the API, if there is one.
    """
    started, port = time.perf_counter(), _free_port()
    with standalone(source, {"HEADWAY_API_PORT": str(port)} if HAS_API else {}) as (_, url):
        _wait_for_success(url)
        seconds = time.perf_counter() - started
        time.sleep(3)  # let it come to rest
        idle = _memory()
        if HAS_API:
            _ask(port)
            time.sleep(3)
        return seconds, idle, _memory()


def _free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def _ask(port: int) -> None:
    """Have the API answer something, also if only that nobody has signed in."""
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", "/auth/me")
        connection.getresponse().read()


@contextmanager
def standalone(
    source: str, given: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[Path, str]]:
    with tempfile.TemporaryDirectory() as folder:
        home, files = Path(folder, "home"), Path(folder, "dags")
        files.mkdir()
        (files / "first.py").write_text(source)
        process = subprocess.Popen(
            [sys.executable, "-m", "headway.cli", "standalone", "--dags", str(files)],
            env={**os.environ, **given, "HEADWAY_HOME": str(home)},
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
