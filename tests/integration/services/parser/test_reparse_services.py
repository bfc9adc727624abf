"""DAGs that follow something outside of their files: at each run, or now and then."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from headway.db.reads import event_views
from headway.db.reads.event_views import EventView
from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

CLIENTS = """
from pathlib import Path
from headway.sdk import DAG, task

clients = Path({outside!r}).read_text().split()
gate = Path({outside!r}).with_name("gate")
if gate.exists():
    gate.read_text()

with DAG({dag_id!r}, {options}):
    for client in clients:
        @task(task_id=client)
        def load(client):
            return f"loaded {{client}}"
        load(client)
"""

IS_SETTLED = text("""
    SELECT due_at > now() + interval '10 minutes' FROM dag_file WHERE relative_path = :path
""")
PARSE_REQUESTED = text("SELECT parse_requested_at IS NOT NULL FROM dag_run WHERE run_id = :run_id")
SELDOM = {"HEADWAY_PARSER_MIN_FILE_PROCESS_INTERVAL": "3600"}
SOON_DEAD = {
    "HEADWAY_PARSER_HEARTBEAT_INTERVAL": "0.5",
    "HEADWAY_PARSER_HEALTH_CHECK_THRESHOLD": "3",
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What DAGs follow: a file that is in no bundle."""
    (tmp_path / "outside").mkdir()
    file = tmp_path / "outside" / "clients.txt"
    file.write_text("ann bob")
    return file


@pytest.fixture
def reparsing(database_url: str, tmp_path: Path, outside: Path) -> Iterator[ServiceCluster]:
    """Services with a DAG that is parsed for its runs, and else for nothing but an edit."""
    readable = {"HEADWAY_PARSER_READABLE_PATHS": str(outside.parent)}
    with service_cluster(database_url, tmp_path, {**SELDOM, **SOON_DEAD, **readable}) as cluster:
        put(cluster, "at_run", outside, "dynamic=True, reparse_on_run=True")
        for kind in ("parser", "scheduler", "worker"):
            cluster.start(kind)
        cluster.wait_for_version("at_run")
        yield cluster


def put(cluster: ServiceCluster, dag_id: str, outside: Path, options: str) -> None:
    source = CLIENTS.format(dag_id=dag_id, outside=str(outside), options=options)
    (cluster.dags / f"{dag_id}.py").write_text(source)


def wait_until_settled(cluster: ServiceCluster, dag_id: str) -> None:
    """Wait until a file that has just changed was looked at a second time."""
    path = {"path": f"{dag_id}.py"}
    cluster.until(lambda conn: conn.scalar(IS_SETTLED, path), f"{dag_id} left alone")


def shape(run: StackRun) -> tuple[int, dict[str, str]]:
    """The version of a run that has ended, and what its tasks have returned."""
    assert run.state == "success"
    return run.row.version, {name: str(run.xcom(name)) for name in run.states()}


def clients(*names: str) -> dict[str, str]:
    return {name: f"loaded {name}" for name in names}


def test_each_run_is_of_the_outside_as_it_is_when_it_starts(
    reparsing: ServiceCluster, outside: Path
) -> None:
    assert shape(reparsing.run("at_run")) == (1, clients("ann", "bob"))

    outside.write_text("ann bob cyd")
    assert shape(reparsing.run("at_run")) == (2, clients("ann", "bob", "cyd"))

    outside.write_text("cyd")
    both = [reparsing.trigger("at_run"), reparsing.trigger("at_run")]
    assert [shape(run.wait()) for run in both] == [(3, clients("cyd"))] * 2

    outside.write_text("ann bob")
    assert shape(reparsing.run("at_run")) == (1, clients("ann", "bob"))
    assert shape(reparsing.run("at_run")) == (1, clients("ann", "bob"))


@contextmanager
def held_up(cluster: ServiceCluster, outside: Path) -> Iterator[None]:
    """Have a parse of the DAG, which has read the outside already, wait for the context's end."""
    with gate_of(outside) as gate:
        assert cluster.headway("dags", "reparse", "at_run").returncode == 0
        writing = cluster.until(lambda _: _open_for_writing(gate), "a parse at the gate")
    try:
        yield
    finally:
        os.close(writing)


@contextmanager
def gate_of(outside: Path) -> Iterator[Path]:
    """A pipe at which a parse stops that begins now, after it has read the outside."""
    gate = outside.with_name("gate")
    os.mkfifo(gate, 0o644)
    yield gate
    gate.unlink()


def _open_for_writing(gate: Path) -> int | None:
    try:
        return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads it yet
        return None


def test_a_parse_that_began_before_the_run_was_asked_for_does_not_count(
    reparsing: ServiceCluster, outside: Path
) -> None:
    with held_up(reparsing, outside):
        outside.write_text("ann bob cyd")
        run = reparsing.trigger("at_run")
        reparsing.until(
            lambda conn: conn.scalar(PARSE_REQUESTED, {"run_id": run.run_id}), "a parse asked for"
        )
        wait_for_a_look(reparsing)
        assert run.state == "queued"

    assert shape(run.wait()) == (2, clients("ann", "bob", "cyd"))


def wait_for_a_look(cluster: ServiceCluster) -> None:
    """Wait until a file that is new has its error: the parser has looked since."""
    put(cluster, "probe", Path("/nowhere"), "")
    cluster.wait_for_import_error("probe.py")


def test_a_run_whose_parse_fails_has_the_last_version_that_was_good(
    reparsing: ServiceCluster, outside: Path
) -> None:
    file = reparsing.dags / "at_run.py"
    source = file.read_text()
    file.write_text(f"{source}1 / 0\n")
    outside.write_text("ann bob cyd")
    run = reparsing.run("at_run")

    assert (run.row.version, run.states()) == (1, {"ann": "success", "bob": "success"})
    with reparsing.engine.connect() as conn:
        [event] = _not_reparsed(conn)
    assert (event.run_id, event.details["version"]) == (run.run_id, 1)
    assert "ZeroDivisionError" in str(event.details["problem"])
    assert "run.not_reparsed" in reparsing.headway("events", "at_run").stdout

    file.write_text(source)
    assert shape(reparsing.run("at_run")) == (2, clients("ann", "bob", "cyd"))
    with reparsing.engine.connect() as conn:
        assert len(_not_reparsed(conn)) == 1


def _not_reparsed(conn: Connection) -> list[EventView]:
    return [
        event for event in event_views.events(conn, "at_run") if event.action == "run.not_reparsed"
    ]


def test_a_run_waits_for_a_parser(reparsing: ServiceCluster, outside: Path) -> None:
    assert reparsing.end(reparsing.member("parser-1")) == 0
    outside.write_text("ann bob cyd")
    run = reparsing.trigger("at_run")
    reparsing.until(
        lambda conn: conn.scalar(PARSE_REQUESTED, {"run_id": run.run_id}), "a parse asked for"
    )

    told = reparsing.headway("explain", "at_run", run.run_id, "ann")
    assert "The run waits for at_run.py to be parsed, as its DAG has reparse_on_run" in told.stdout
    assert "0 parsers alive" in told.stdout
    assert "Start one: `headway parser`." in told.stdout
    assert (run.state, run.states()) == ("queued", {})

    reparsing.start("parser", 2)
    assert shape(run.wait()) == (2, clients("ann", "bob", "cyd"))


def test_a_run_whose_parser_dies_over_the_parse_is_parsed_for_by_another(
    reparsing: ServiceCluster, outside: Path
) -> None:
    with gate_of(outside) as gate:
        run = reparsing.trigger("at_run")
        writing = reparsing.until(lambda _: _open_for_writing(gate), "the run's parse at the gate")
    reparsing.end(reparsing.member("parser-1"), signal.SIGKILL)
    os.close(writing)
    outside.write_text("ann bob cyd")
    reparsing.start("parser", 2)

    assert shape(run.wait()) == (2, clients("ann", "bob", "cyd"))


@pytest.mark.parametrize(
    ("interval", "options"),
    [
        pytest.param("1", "dynamic=True", marks=pytest.mark.long),
        ("3600", "dynamic=True, min_file_process_interval=1"),
    ],
)
def test_a_dynamic_dag_follows_with_a_delay_and_no_other_one_does(
    database_url: str, tmp_path: Path, outside: Path, interval: str, options: str
) -> None:
    given = {
        "HEADWAY_PARSER_READABLE_PATHS": str(outside.parent),
        "HEADWAY_PARSER_MIN_FILE_PROCESS_INTERVAL": interval,
    }
    with service_cluster(database_url, tmp_path, given) as cluster:
        put(cluster, "follows", outside, options)
        put(cluster, "static", outside, "")
        cluster.start("parser")
        cluster.wait_for_version("follows")
        wait_until_settled(cluster, "static")

        for number, names in enumerate(("ann bob cyd", "cyd", "dan"), start=2):
            outside.write_text(names)
            cluster.wait_for_version("follows", number)
        assert cluster.dag("static").version == 1
