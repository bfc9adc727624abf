"""The environment of rendered containers reaches a real Postgres by TLS, also through PgBouncer."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import URL, make_url
from tests.chart.certificates import Authority
from tests.chart.rendering import SETS, Object, containers, of_kind, pods, render, rendered

from headway.db.access import registration
from headway.db.core import engine as engines
from headway.embedded.account import give, server_account
from headway.embedded.postgres import HOST, PostgresServer, choose_port
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.settings import configuration
from headway.testing.database.pgbouncer import wait_until_ready
from headway.testing.processes.required import required_program
from headway.testing.services.forks import run_command

NAME = "localhost"
"""What the certificates are for; the servers listen at the address of that name."""

PASSWORD = "a-password@of:every/role"  # which no address of a database could hold as it is
ROLES = ("scheduler", "parser", "worker", "api")


@dataclass(frozen=True, slots=True)
class Server:
    """A Postgres with a certificate for NAME alone."""

    url: URL
    authority: Authority
    other: Authority

    def environment(self, container: Object, port: int | None = None) -> dict[str, str]:
        """The environment of a container that finds this server where the chart says."""
        owner = container["name"] == "migrate"
        found = {variable["name"]: variable.get("value", PASSWORD) for variable in container["env"]}
        address = make_url(found["HEADWAY_DATABASE_URL"]).set(host=NAME)
        if owner:
            address = address.set(username=self.url.username)
            found["PGPASSWORD"] = str(self.url.password)
        if port is None:
            address = address.set(port=self.url.port, database=self.url.database)
        else:
            address = address.set(port=port)
        found["HEADWAY_DATABASE_URL"] = address.render_as_string(hide_password=False)
        if (listen := found.get("HEADWAY_DATABASE_LISTEN_URL")) is not None:
            direct = make_url(listen).set(host=NAME, port=self.url.port, database=self.url.database)
            assert direct.query["sslrootcert"] == "/etc/headway/server-ca/ca.crt"
            direct = direct.update_query_dict({"sslrootcert": str(self.authority.certificate)})
            found["HEADWAY_DATABASE_LISTEN_URL"] = direct.render_as_string(hide_password=False)
        assert found["PGSSLROOTCERT"] == "/etc/headway/database-ca/ca.crt"
        found["PGSSLROOTCERT"] = str(self.authority.certificate)
        return found


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that the account of the servers may look into."""
    with tempfile.TemporaryDirectory(prefix="headway-tls-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    authority, other = Authority.new(folder, "authority"), Authority.new(folder, "other")
    certificate, key = authority.issue(folder, NAME)
    account = server_account(folder)
    give(key, account)
    given = {"ssl": "on", "ssl_cert_file": str(certificate), "ssl_key_file": str(key)}
    with PostgresServer(folder / "data", settings=given, binaries=_with_tls()) as running:
        found = Server(make_url(running.url), authority, other)
        [migration] = [container for container in every("least") if container["name"] == "migrate"]
        done = headway(found.environment(migration), *migration["args"])
        assert done.returncode == 0, done.stderr
        yield found


def _with_tls() -> Path:
    """The programs of Debian's Postgres; the embedded one is built without TLS."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        pytest.skip("Postgres with TLS is not installed: apt-get install postgresql-15")
    return found[-1]


def whole(name: str) -> tuple[Object, ...]:
    """The objects of a value set, with the API."""
    return render(SETS[name], Path(__file__).with_name("api-values.yaml"))


def every(name: str) -> list[Object]:
    return [container for _, pod in pods(whole(name)) for container in containers(pod)]


def service(name: str, role: str) -> Object:
    return next(container for container in every(name) if container["name"] == role)


def headway(environment: Mapping[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run_command(arguments, {"PATH": os.environ["PATH"], **environment})


@pytest.mark.parametrize("role", ROLES)
def test_each_pod_sees_that_the_migration_is_done(server: Server, role: str) -> None:
    [container] = [
        container
        for _, pod in pods(whole("least"))
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] == role
        for container in pod["spec"]["initContainers"]
    ]

    done = headway(server.environment(container), *container["args"])

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("role", ROLES)
def test_each_service_logs_in_as_its_role_and_verifies_the_server(
    server: Server, role: str
) -> None:
    environment = server.environment(service("least", role))

    assert environment["PGSSLMODE"] == "verify-full"
    done = headway(environment, "db", "check")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"PGSSLROOTCERT": "other"}, "certificate verify failed"),
        ({"HEADWAY_DATABASE_URL": HOST}, f'does not match host name "{HOST}"'),
        ({"PGPASSWORD": "wrong"}, "password authentication failed"),
    ],
)
def test_another_server_and_another_login_are_refused(
    server: Server, changed: Mapping[str, str], words: str
) -> None:
    environment = server.environment(service("least", "scheduler"))
    for name, value in changed.items():
        match name:
            case "PGSSLROOTCERT":
                environment[name] = str(server.other.certificate)
            case "HEADWAY_DATABASE_URL":
                environment[name] = environment[name].replace(NAME, value)
            case _:
                environment[name] = value

    done = headway(environment, "db", "check")

    assert done.returncode == 6
    assert words in done.stderr


@pytest.fixture(scope="module")
def pooled(server: Server, folder: Path) -> Iterator[int]:
    """The port of a PgBouncer with the rendered configuration."""
    program, account = required_program("pgbouncer", "pgbouncer"), server_account(folder)
    place = folder / "pgbouncer"
    place.mkdir()
    port = choose_port(place / "port", None)
    [config] = [
        manifest["data"]["pgbouncer.ini"]
        for manifest in of_kind(rendered("pgbouncer"), "ConfigMap")
    ]
    users = "".join(f'"headway_{role}" "{PASSWORD}"\n' for role in ROLES)
    certificate, key = server.authority.issue(place, NAME)
    files = {
        "userlist.txt": users,
        "pgbouncer.ini": _localized(config, server, place, port),
    }
    for name, content in files.items():
        (place / name).write_text(content)
    for path in (place, key, certificate, *(place / name for name in files)):
        give(path, account)
    with (place / "log").open("wb") as log:
        command = dies_with_parent([program, str(place / "pgbouncer.ini")], user=account)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until_ready(process, port, place / "log")
        yield port
    finally:
        process.kill()
        process.wait()


def _localized(config: str, server: Server, place: Path, port: int) -> str:
    """The rendered configuration, with the paths, ports and names of this machine."""
    config = config.replace("postgres.example.org", NAME).replace(
        "port=5432", f"port={server.url.port}"
    )
    config = config.replace("dbname=headway", f"dbname={server.url.database}")
    config = config.replace("listen_port = 5432", f"listen_port = {port}")
    config = config.replace("listen_addr = *", f"listen_addr = {HOST}")
    config = config.replace("/etc/headway/database-ca/ca.crt", str(server.authority.certificate))
    return re.sub(r"/etc/headway/(userlist|tls)/", f"{place}/", config)


@pytest.mark.parametrize("role", ROLES)
def test_each_service_reaches_postgres_through_pgbouncer(
    server: Server, pooled: int, role: str
) -> None:
    environment = server.environment(service("pgbouncer", role), pooled)
    assert environment["HEADWAY_DATABASE_POOLER"] == "true"

    done = headway(environment, "db", "check")

    assert done.returncode == 0, done.stderr


def test_a_service_listens_to_postgres_itself_past_pgbouncer(
    server: Server, pooled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = service("pgbouncer", "scheduler")
    for name, value in server.environment(container, pooled).items():
        monkeypatch.setenv(name, value)

    engine = registration._heard_at(
        engines.connect(configuration.environment()["HEADWAY_DATABASE_URL"])
    )

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
        assert conn.scalar(text("SELECT inet_server_port()")) == server.url.port
        assert conn.scalar(text("SELECT current_user")) == "headway_scheduler"
    assert engine.url.query["sslmode"] == "verify-full"
    engine.dispose()


def test_no_service_gets_the_role_of_another_by_the_name_of_its_pool(
    server: Server, pooled: int
) -> None:
    environment = server.environment(service("pgbouncer", "worker"), pooled)
    address = environment["HEADWAY_DATABASE_URL"]
    environment["HEADWAY_DATABASE_URL"] = re.sub(r"/headway_worker$", "/headway_scheduler", address)

    done = headway(environment, "scheduler")

    assert done.returncode == 6
    assert "may not be a scheduler" in done.stderr
