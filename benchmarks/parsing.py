"""How fast DAG files are taken in: from nothing, when nothing changes, and after an edit."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, text

from benchmarks.support import parsing_floor, server
from benchmarks.support.meter import family_cpu_seconds
from benchmarks.support.report import Row
from benchmarks.support.server import Database, Server
from benchmarks.support.turns import turns
from headway.db.access.logins import Login

NAME: Final = "parsing"
FILES: Final = 500
REPEAT: Final = 5
EDITS: Final = 10
SECOND_PARSE_AFTER: Final = "10"
"""Seconds after which a parser reads a new file once more: before that it is not at rest."""

STEADY_SECONDS: Final = 20.0
PATIENCE: Final = 900.0

SOURCE: Final = """
import pendulum
from headway.sdk import DAG, BashOperator, chain

with DAG("dag_{number}", schedule="@daily", start_date=pendulum.datetime(2024, 1, 1, tz="UTC")):
    chain(*(BashOperator(task_id=f"task_{{n}}", bash_command=f"echo {{n}}") for n in range(10)))
"""

_IN_FORCE: Final = text("SELECT count(*) FROM dag WHERE version_id IS NOT NULL")
_VERSIONS: Final = text("SELECT count(*) FROM dag_version WHERE dag_id = 'dag_0'")
_AT_REST: Final = text("SELECT bool_and(due_at > now() + interval '10 minutes') FROM dag_file")


@dataclass(frozen=True, slots=True)
class Parser:
    """A running parser, the folder of its files, and an engine to look at its database with.

    `started` is when its process was.
    """

    process: "subprocess.Popen[bytes]"
    folder: Path
    owner: Engine
    started: float

    def cpu(self) -> float:
        """Return the seconds of CPU that the parser and its living children have used."""
        return family_cpu_seconds(self.process.pid)

    def ask(self, statement: object) -> object:
        """Return the one value that a statement selects."""
        with self.owner.connect() as conn:
            return conn.scalar(statement)  # type: ignore[call-overload]

    def until(self, done: Callable[[], bool], what: str) -> None:
        """Look every few milliseconds until it is so."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"not in {PATIENCE:g} s: {what}")
            time.sleep(0.005)

    def wait_for(self, count: int) -> None:
        """Wait until so many DAGs are in force."""
        self.until(lambda: self.ask(_IN_FORCE) == count, f"{count} DAGs in force")


def run() -> Iterator[Row]:
    """Measure section 4 of the targets, and what files that do not change cost."""
    with server.running() as postgres:
        yield from _cold(postgres)
        with postgres.database("steady") as database, _parser(database, FILES) as parser:
            parser.wait_for(FILES)
            yield from _steady(parser, FILES, 0.01)
            yield from _edits(parser)
        for count in (10, 5_000):
            with postgres.database("grown") as database, _parser(database, count) as parser:
                parser.wait_for(count)
                yield from _steady(parser, count, 0.03)


def _cold(postgres: Server) -> Iterator[Row]:
    """The time from starting the parser until all its files are in force."""
    walls, cpus, ratios = [], [], []
    for number in turns(REPEAT):
        with postgres.database(f"cold_{number}") as database, _parser(database, FILES) as parser:
            parser.wait_for(FILES)
            walls.append(time.perf_counter() - parser.started)
            cpus.append(1e3 * parser.cpu() / FILES)
            ratios.append(walls[-1] / parsing_floor.measure(parser.folder))
    case = f"cold, {FILES} files of 10 tasks"
    yield Row.at_most(NAME, case, walls, "s", 2.5, metric="from the start to all in force")
    yield Row.of(NAME, case, "CPU per file, parser and children", cpus, "ms")
    yield Row.of(NAME, case, "against forking and importing alone", ratios, "")


def _steady(parser: Parser, count: int, target: float) -> Iterator[Row]:
    """What a parser costs while nothing changes, after it has looked at all files twice."""
    parser.until(lambda: bool(parser.ask(_AT_REST)), "a parser at rest")
    cores = []
    for _ in turns(3):
        before, started = parser.cpu(), time.perf_counter()
        time.sleep(STEADY_SECONDS / 3)
        cores.append((parser.cpu() - before) / (time.perf_counter() - started))
    case = f"nothing changes, {count:,} files"
    yield Row.at_most(NAME, case, cores, "cores", target, metric="CPU")


def _edits(parser: Parser) -> Iterator[Row]:
    """The time from writing a file until its new version is in force."""
    file, seconds = parser.folder / "dag_0.py", []
    for number in turns(EDITS):
        versions = int(str(parser.ask(_VERSIONS)))
        changed = file.read_text() + f"# {number}\n"
        started = time.perf_counter()
        file.write_text(changed)
        parser.until(lambda: parser.ask(_VERSIONS) == versions + 1, "a new version")  # noqa: B023
        seconds.append(time.perf_counter() - started)
    yield Row.at_most(NAME, "an edit is in force", seconds, "s", 0.5, metric="after")


@contextmanager
def _parser(database: Database, count: int) -> Iterator[Parser]:
    with tempfile.TemporaryDirectory() as folder:
        files, home = Path(folder, "dags"), Path(folder, "home")
        files.mkdir()
        for number in range(count):
            (files / f"dag_{number}.py").write_text(SOURCE.format(number=number))
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "headway.cli", "parser"],
            env={
                **os.environ,
                "HEADWAY_HOME": str(home),
                "HEADWAY_DATABASE_URL": database.urls[Login.PARSER],
                "HEADWAY_PARSER_DAGS": str(files),
                "HEADWAY_PARSER_DAGS_ARE_PAUSED_AT_CREATION": "true",
                "HEADWAY_PARSER_MIN_FILE_PROCESS_INTERVAL": SECOND_PARSE_AFTER,
            },
            stderr=subprocess.DEVNULL,
        )
        try:
            yield Parser(process, files, database.owner, started)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
