"""What real services tell probes: while the database is away, while a worker drains, and so on."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import copytree
from socket import socket
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.database.logins import PASSWORD
from headway.testing.database.relay import relay
from headway.testing.services.cluster import ClusterMember, ServiceCluster, service_cluster
from headway.testing.time.clock import PATIENCE, until

pytestmark = pytest.mark.services

KINDS = ("api", "parser", "scheduler", "worker")
DAGS = Path(__file__).parents[1] / "dags" / "losses"

Probe = tuple[int, dict[str, tuple[bool, str]]]
"""The status of an answer, and its checks by name."""


OLD_PROCESS = text("""
    INSERT INTO process (kind, hostname, pid, version, started_at, ended_at)
    VALUES ('parser', 'old', 1, 'old', now() - interval '9 days', now() - interval '8 days')
""")


def is_left(engine: Engine) -> bool:
    with engine.connect() as conn:
        return bool(conn.scalar(text("SELECT count(*) FROM process WHERE hostname = 'old'")))


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    with service_cluster(database_url, tmp_path) as cluster:
        yield cluster


def free_port() -> int:
    with socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def variable(kind: str) -> str:
    return f"HEADWAY_{kind.upper()}_HTTP_PORT"


def launch(
    cluster: ServiceCluster, kind: str, given: dict[str, str] | None = None
) -> tuple[ClusterMember, int]:
    """Start a service, and do not wait until the database knows it; return where it answers."""
    port = free_port()
    return cluster.launch(kind, given={variable(kind): str(port), **(given or {})}), port


def get(port: int, path: str) -> tuple[int, str]:
    try:
        response: Any = urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE)
    except HTTPError as error:
        response = error
    with response:
        return response.status, response.read().decode()


def probe(port: int, path: str) -> Probe:
    status, body = get(port, path)
    answer = json.loads(body)
    assert answer["ok"] is (status == 200)
    assert PASSWORD not in body
    return status, {check["check"]: (check["ok"], check["found"]) for check in answer["checks"]}


def listens(port: int) -> bool:
    with socket() as some:
        return some.connect_ex(("127.0.0.1", port)) == 0


def until_ready(port: int) -> None:
    until(lambda: listens(port), "a service that listens")
    until(lambda: probe(port, "/readyz")[0] == 200, "a service that is ready")


def wrong(port: int) -> dict[str, str]:
    """What keeps a service from being ready."""
    _, checks = probe(port, "/readyz")
    return {name: found for name, (ok, found) in checks.items() if not ok}


def launch_behind(cluster: ServiceCluster, relayed: int) -> tuple[list[ClusterMember], list[int]]:
    """Launch one of each kind, whose database is found at that port; return where they answer."""
    members, ports = [], []
    for kind in KINDS:
        url = make_url(cluster.urls[kind]).set(host="127.0.0.1", port=relayed)
        given = {"HEADWAY_DATABASE_URL": url.render_as_string(hide_password=False)}
        member, port = launch(cluster, kind, given)
        members.append(member)
        ports.append(port)
    return members, ports


def says_of_its_database(port: int, found: str) -> bool:
    return found in wrong(port).get("database", "")


def until_away(ports: list[int], found: str) -> None:
    """Wait until each service says so of its database; it must be alive and not ready."""
    for port in ports:
        until(partial(listens, port), "a service that listens")
        until(partial(says_of_its_database, port, found), f"a service that says: {found}")
        assert probe(port, "/readyz")[0] == 503
        status, checks = probe(port, "/healthz")
        assert (status, set(checks)) == (200, {"loop"})


def test_a_database_that_is_away_makes_no_service_dead(
    cluster: ServiceCluster, database_url: str
) -> None:
    """It is refused at first, then there, then silent, then there, then refused again."""
    with relay(database_url) as way:
        relayed = way.port
    members, ports = launch_behind(cluster, relayed)
    until_away(ports, "Connection refused")
    assert {wrong(port)["service"] for port in ports} == {"waiting for the database"}

    with relay(database_url, relayed) as way:
        for member, port in zip(members, ports, strict=True):
            cluster.arrived(member)
            until_ready(port)
            _, checks = probe(port, "/readyz")
            assert set(checks) >= {"service", "loop", "database", "schema", "process"}
        with way.cut():
            until_away(ports, "has not answered for")
        for port in ports:
            until_ready(port)
    until_away(ports, "Connection refused")

    with relay(database_url, relayed):
        for port in ports:
            until_ready(port)
        cluster.check_alive()
        cluster.end_all()


def test_every_service_shows_its_metrics_and_a_scheduler_removes_what_is_old(
    cluster: ServiceCluster, engine: Engine
) -> None:
    with engine.begin() as conn:
        conn.execute(OLD_PROCESS)
    for kind in KINDS:
        _, port = launch(cluster, kind)
        until_ready(port)

        status, body = get(port, "/metrics")

        assert status == 200
        assert "\nheadway_clock_skew_seconds " in body
        assert "\nheadway_illegal_transition_total 0.0\n" in body
        assert get(port, "/other")[0] == 404
        assert ("\nheadway_retention_behind_seconds{" in body) is (kind == "scheduler")
    until(lambda: not is_left(engine), "the old process is removed")
    for member in list(cluster.members):
        assert cluster.end(member) == 0


def test_the_command_tells_by_its_exit_status_how_a_service_is(cluster: ServiceCluster) -> None:
    worker, port = launch(cluster, "worker")
    until_ready(port)
    given = {variable("worker"): str(port)}

    alive = cluster.headway("health", "worker", given=given)
    ready = cluster.headway("health", "worker", "--ready", "-o", "json", given=given)
    assert cluster.end(worker) == 0
    gone = cluster.headway("health", "worker", given=given)
    nowhere = cluster.headway("health", "worker")

    assert alive.returncode == 0, alive
    assert alive.stdout.splitlines()[0].split() == ["check", "ok", "found"]
    assert alive.stdout.splitlines()[1].split()[:2] == ["loop", "yes"]
    assert ready.returncode == 0, ready
    rows = json.loads(ready.stdout)
    assert {"check": "service", "ok": True, "found": "running"} in rows
    assert {"check": "fork server", "ok": True, "found": "is there"} in rows
    assert (gone.returncode, nowhere.returncode) == (1, 2)
    assert "Connection refused" in gone.stdout
    assert "HEADWAY_WORKER_HTTP_PORT is 0" in nowhere.stderr


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "scheduler" else pytest.mark.long) for kind in KINDS],
)
def test_a_port_that_is_taken_ends_a_service_with_the_name_of_the_setting(
    cluster: ServiceCluster, kind: str
) -> None:
    with socket() as other:
        other.bind(("", 0))
        other.listen()
        port = str(other.getsockname()[1])

        member = cluster.launch(kind, given={variable(kind): port})

        assert cluster.dismiss(member) == 2
    message = f"Error: {variable(kind)}: this process cannot listen at port {port}: Address already"
    assert message in member.logged()
    assert "Traceback" not in member.logged()


@pytest.mark.long
def test_a_worker_without_its_fork_server_is_not_ready(
    cluster: ServiceCluster, tmp_path: Path
) -> None:
    path = tmp_path / "socket"
    _, port = launch(cluster, "worker", {"HEADWAY_WORKER_FORKER": str(path)})
    until(lambda: listens(port) and set(wrong(port)) == {"fork server"}, "a worker without one")

    for _ in range(2):
        with fork_server(path, "worker"):
            until_ready(port)
        until(lambda: set(wrong(port)) == {"fork server"}, "a worker that has lost its own")

    assert probe(port, "/healthz")[0] == 200


@pytest.mark.long
def test_a_parser_waits_for_its_fork_server(cluster: ServiceCluster, tmp_path: Path) -> None:
    """Containers of a pod start side by side."""
    path = tmp_path / "socket"
    parser, port = launch(cluster, "parser", {"HEADWAY_PARSER_FORKER": str(path)})
    until(lambda: listens(port) and set(wrong(port)) == {"fork server"}, "a parser without one")

    with fork_server(path, "parser"):
        until_ready(port)
        assert cluster.end(parser) == 0

    assert "action=isolate DAG files are parsed" in parser.logged()


def test_a_worker_that_drains_is_alive_and_not_ready(database_url: str, tmp_path: Path) -> None:
    copytree(DAGS, tmp_path / "dags")
    notes = tmp_path / "notes"
    notes.mkdir()
    with service_cluster(database_url, tmp_path) as cluster:
        for kind in ("parser", "scheduler"):
            cluster.start(kind)
        cluster.wait_for_version("waits")
        worker, port = launch(cluster, "worker")
        worker = cluster.arrived(worker)
        run = cluster.trigger("waits", {"folder": str(notes)})
        until((notes / "self-1").exists, "the attempt")

        assert cluster.headway("worker", "drain", str(worker.id)).returncode == 0

        until(lambda: wrong(port) == {"service": "draining"}, "a worker that drains")
        assert probe(port, "/healthz")[0] == 200
        (notes / "go-1").touch()
        assert cluster.dismiss(worker) == 0
        run.wait()


@contextmanager
def fork_server(path: Path, supervisor: str) -> Iterator[None]:
    """Run a fork server as another container would: without its supervisor's environment."""
    command = [sys.executable, "-m", "headway.cli", "forker", "--socket", str(path)]
    process = subprocess.Popen(
        dies_with_parent([*command, "--for", supervisor]), env={"PATH": os.environ["PATH"]}
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)
