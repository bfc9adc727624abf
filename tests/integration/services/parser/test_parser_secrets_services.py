"""S1 and S2: a DAG file gets at no secret while it is parsed, and no service imports it.

Everything is tried by a real file in real parsers: one with every layer of the sandbox,
one with the least that there is anywhere (see docs/isolation.md).
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from tests.integration.services.parser.zoo.keeper import Zoo, dag

from headway.db.reads import dag_file_views, dag_views, process_views
from headway.embedded.postgres import PostgresServer
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.sandbox import landlock
from headway.testing.data.known import known
from headway.testing.database.postgres import CARELESS
from headway.testing.services.stack import Stack, running_stack
from headway.testing.time.clock import PATIENCE, until

pytestmark = pytest.mark.services

HERE = Path(__file__).parent
SPY = HERE.parent / "dags" / "spying" / "spy.py"
SECRET = "the-secret-of-a-file"

MARKING = """
import os
from pathlib import Path
try:
    Path({folder!r}, str(os.getpid())).touch()
except OSError:
    pass
from headway.sdk import DAG, task
with DAG("marking"):
    @task
    def work():
        return 1
    work()
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """Services, and what there is to be found: a file with a secret lies beside the DAGs, even."""

    stack: Stack
    targets: Mapping[str, Any]
    marks: Path

    def spied(self, folder: Path, dag_id: str) -> Any:
        """Return what the spy finds in that folder of DAG files, beside a canary."""
        told = {**self.targets, "dag_id": dag_id}
        (folder / "targets.json").write_text(json.dumps(told))
        with Zoo(self.stack, self.marks, self.targets["processes"]["parser"]).canary():
            (folder / "spy.py").write_text(SPY.read_text())
            self.stack.until(lambda conn: self._is_parsed(conn, dag_id), f"what {dag_id} finds")
        return json.loads(known(self.stack.dag(dag_id).description))

    def _is_parsed(self, conn: Connection, dag_id: str) -> bool:
        errors = dag_file_views.errors(conn)
        assert not errors, errors[0].error
        return dag_views.dag(conn, dag_id) is not None


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    root = tmp_path_factory.mktemp("secrets")
    for name in ("strong", "weak", "secrets", "marks"):
        (root / name).mkdir()
    for name in ("secrets/token", "strong/headway.toml"):
        (root / name).write_text(f"# {SECRET}\n")
        (root / name).chmod(0o600)
    (root / "strong" / "marking.py").write_text(MARKING.format(folder=str(root / "marks")))
    (root / "strong" / "canary.py").write_text(dag("canary", "sing"))
    given = {"AWS_SECRET_ACCESS_KEY": SECRET, "HEADWAY_CONFIG": str(root / "strong/headway.toml")}
    with (
        server_with_socket(root / "server") as (socket_path, socket_login),
        running_stack(root / "home", root / "strong", given) as stack,
    ):
        logins = {kind: database(stack.address_of(kind)) for kind in ("parser", "scheduler")}
        logins["owner"] = socket_login["tcp"]
        logins["socket"] = socket_login["unix"]
        files = [root / "secrets/token", root / "strong/headway.toml", root / "home/database-url"]
        files.append(root / "home/postgres/password")
        targets = {
            "processes": processes(stack),
            "files": list(map(str, files)),
            "logins": logins,
            "sockets": [str(socket_path)],
            "secrets": [SECRET, *(str(make_url(url).password) for url in url_logins(logins))],
        }
        yield Scene(stack, targets, root / "marks")


@pytest.fixture(scope="module")
def strong(scene: Scene) -> Any:
    """What is found where every layer is in force."""
    log = (scene.stack.home / "services" / "parser.log").read_text()
    try:
        landlock.version()
    except OSError:
        pytest.skip("this kernel does not have every layer")
    assert "with Landlock" in log
    if "in a PID namespace" not in log:
        pytest.skip("here nobody may make a namespace")
    return scene.spied(scene.stack.dags, "strong")


@pytest.fixture(scope="module")
def weak(scene: Scene) -> Iterator[Any]:
    """What is found by the same user, without namespaces and Landlock."""
    folder = scene.stack.dags.parent / "weak"
    given = {
        **scene.stack.environment,
        "HEADWAY_DATABASE_URL": scene.stack.address_of("parser"),
        "HEADWAY_PARSER_DAGS": str(folder),
        "HEADWAY_PARSER_BUNDLE": "weak",
    }
    with (scene.stack.home / "services" / "weak.log").open("wb") as log:
        parser = subprocess.Popen(
            dies_with_parent([sys.executable, str(HERE / "weak_parser.py"), "parser"]),
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        log_file = scene.stack.home / "services" / "weak.log"
        until(lambda: "action=isolate" in log_file.read_text(), "the weak parser's start")
        assert "There is not Landlock: it was left out on request" in log_file.read_text()
        scene.targets["processes"]["weak parser"] = parser.pid
        yield scene.spied(folder, "weak")
    finally:
        parser.terminate()
        assert parser.wait(PATIENCE) == 0


@pytest.fixture(params=["strong", "weak"])
def found(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_what_is_looked_for_is_there(scene: Scene) -> None:
    """Who is not confined finds it, so that the tests below cannot pass by a mistake."""
    folder = scene.stack.home / "control"
    folder.mkdir()
    harmless = {**scene.targets, "dag_id": "control", "processes": {}}
    (folder / "targets.json").write_text(json.dumps(harmless))
    (folder / "spy.py").write_text(SPY.read_text())
    done = subprocess.run(
        [sys.executable, str(folder / "spy.py")], capture_output=True, check=True, text=True
    )
    found = json.loads(done.stdout)

    for kind in ("files", "logins", "sockets"):
        assert all(answer.startswith("got ") for answer in found[kind].values()), found[kind]
    assert all(Path(f"/proc/{pid}").is_dir() for pid in scene.targets["processes"].values())


def test_no_process_can_be_looked_into(found: Any) -> None:
    got = {
        (kind, name): outcome
        for kind, outcomes in found["processes"].items()
        for name, outcome in outcomes.items()
        if outcome.startswith("got ")
    }
    assert len(found["processes"]) >= 7
    assert got == {}


def test_no_login_succeeds_even_with_the_password(found: Any) -> None:
    assert [name for name, answer in found["logins"].items() if answer.startswith("got ")] == []
    assert set(found["sockets"].values()) == {"EACCES"}


def test_no_secret_is_seen_around_it(found: Any) -> None:
    assert found["spread"] == []
    assert found["environment"] == []


def test_it_has_its_output_and_its_channel_and_no_other_file(found: Any) -> None:
    assert found["descriptors"] == ["/dev/null", "pipe", "pipe", "socket"]


def test_no_file_with_a_secret_can_be_read(strong: Any) -> None:
    """Where Landlock is missing they can, by the same user; then the login fails all the same."""
    assert set(strong["files"].values()) == {"EACCES"}


def test_no_service_imports_a_dag_file(scene: Scene) -> None:
    """Whoever does so outside of the sandbox leaves a mark."""
    run = scene.stack.run("marking")

    assert run.state == "success"
    marked = {int(mark.name) for mark in scene.marks.iterdir()}
    assert marked, "the attempt's own process imports it"
    assert marked.isdisjoint(scene.targets["processes"].values())


def processes(stack: Stack) -> dict[str, int]:
    """The process ids of all that holds a secret, or could be a way to one."""
    with stack.engine.connect() as conn:
        found = {row.kind: int(row.pid) for row in process_views.processes(conn)}
    assert found.keys() == {"api", "parser", "scheduler", "worker"}
    for kind in ("parser", "worker"):
        found[f"forker of the {kind}"] = child_of(found[kind], "headway.runtime.forker\0children")
    found["launcher"] = stack.service.pid
    found["prefork server"] = child_of(stack.service.pid, "headway.runtime.forker\0services")
    found["postgres"] = int((stack.home / "postgres/data/postmaster.pid").read_text().split()[0])
    return found


def child_of(parent: int, what: str) -> int:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (process / "stat").read_text(), (process / "cmdline").read_text()
        except OSError:
            continue
        if int(status.rpartition(")")[2].split()[1]) == parent and what in command:
            return int(process.name)
    raise AssertionError(f"no {what} below {parent}")


def database(address: str) -> str:
    url = make_url(address).set(drivername="postgresql")
    return url.render_as_string(hide_password=False)


def url_logins(logins: Mapping[str, str]) -> list[str]:
    return [login for login in logins.values() if "://" in login]


@contextmanager
def server_with_socket(directory: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """Give a server that has a Unix socket, and the owner's addresses of it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        settings = {**CARELESS, "unix_socket_directories": folder}
        with PostgresServer(directory, settings=settings) as server:
            url = make_url(server.url).set(drivername="postgresql")
            tcp = url.render_as_string(hide_password=False)
            unix = f"host={folder} port={url.port} user={url.username} dbname={url.database}"
            path = Path(folder, f".s.PGSQL.{url.port}")
            yield path, {"tcp": tcp, "unix": f"{unix} password={url.password}"}
