"""Airflow's paths with the logins of the API: what these may do suffices."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api

from headway.db.access.logins import Login
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway.runtime.settings.secret_keys import make_keys_file
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.logins import address, logged_in
from headway_api.app import build
from headway_api.auth.database import ApiDatabase, reading

RUN = f"scheduled__{seed.START.isoformat()}"
DAG, RUNS = "/api/v2/dags/etl", f"/api/v2/dags/etl/dagRuns/{RUN}"
TASK = f"{RUNS}/taskInstances/c"
READS = (
    *("/api/v2/dags", DAG, f"{DAG}/details", "/api/v2/dagTags", f"{DAG}/tasks", f"{DAG}/tasks/c"),
    *(f"{DAG}/dagRuns", RUNS, f"{RUNS}/wait?interval=1&result=a", f"{RUNS}/taskInstances"),
    *(TASK, f"{TASK}/-1", f"{TASK}/tries", f"{TASK}/tries/1", f"{TASK}/dependencies"),
)
OTHERS = (
    *("version", "monitor/health", "jobs", "pools", "pools/default_pool", "backfills?dag_id=~"),
    *("variables", "connections", "eventLogs", "importErrors", "dagWarnings", "dagStats"),
    *("dags/~/dagVersions", "dags/etl/dagVersions/1"),
    "dags/~/dagRuns/~/taskInstances/~/xcomEntries",
)


@pytest.fixture
def client(engine: Engine, database_url: str, api: Api) -> Iterator[TestClient]:
    """A client of an application that reads and changes by the logins that it has for that."""
    token, settings = api.token("ann"), read(ApiSettings, port=0)
    reads = reading(address(database_url, Login.READONLY), settings)
    with logged_in(database_url, Login.API) as writes:
        app = build(ApiDatabase(reads, writes), settings)
        with Api(app, settings, engine).client(token) as asking:
            yield asking
    reads.dispose()


@pytest.fixture
def ended(engine: Engine) -> None:
    """A run of three tasks that has ended, whose last task failed."""
    chain = (seed.task("a"), seed.task("b", "a"), seed.task("c", "b"))
    force(engine, seed.start_run(engine, seed.dag(*chain)), a="success", b="success", c="failed")
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'failed', ended_at = now()"))
        conn.execute(text("INSERT INTO dag_file (bundle, relative_path) VALUES ('main', 'etl.py')"))


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize("path", READS)
def test_the_login_that_reads_may_read_it(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200


def test_the_login_that_reads_shows_connections_and_variables(
    client: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    make_keys_file(tmp_path / "home")
    kinds = {
        "variables": {"key": "v", "value": "x"},
        "connections": {"connection_id": "v", "conn_type": "http"},
    }

    for path, body in kinds.items():
        assert client.post(f"/api/v2/{path}", json=body).status_code == 201
        assert client.get(f"/api/v2/{path}/v").status_code == 200
        assert client.get(f"/api/v2/{path}").json()["total_entries"] == 1


def test_no_login_that_changes_is_asked_for_connections_and_variables(api: Api) -> None:
    found: list[str] = []

    def noted(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        found.append(statement)

    with api.client(api.token("ann")) as asking:
        event.listen(api.engine, "before_cursor_execute", noted)
        for path in ("variables", "connections", "variables/v", "connections/v"):
            asking.get(f"/api/v2/{path}")
        event.remove(api.engine, "before_cursor_execute", noted)

    assert [each for each in found if "FROM secret" in each] == []


@pytest.mark.usefixtures("ended")
def test_the_login_that_changes_may_do_what_is_asked_for(client: TestClient) -> None:
    token = client.get(DAG).json()["file_token"]
    clear = {"dag_run_id": RUN, "dry_run": False}
    answers = [
        client.put(f"/api/v2/parseDagFile/{token}"),
        client.patch(f"{TASK}/dry_run", json={"new_state": "success"}),
        client.patch(TASK, json={"new_state": "success"}),
        client.post(f"{DAG}/clearTaskInstances", json={**clear, "only_failed": False}),
        client.patch(RUNS, json={"state": "failed"}),
        client.post(f"{RUNS}/clear", json={"dry_run": False, "run_on_latest_version": True}),
        client.post(f"{DAG}/dagRuns", json={"dag_run_id": "mine"}),
        client.delete(f"{DAG}/dagRuns/mine"),
        client.patch(RUNS, json={"state": "failed"}),
        client.patch("/api/v2/dags?dag_id_pattern=~", json={"is_paused": True}),
        client.patch(DAG, json={"is_paused": False}),
        client.delete(DAG),
    ]

    statuses = [answer.status_code for answer in answers]
    assert statuses == [201, 200, 200, 200, 200, 200, 200, 204, 200, 200, 200, 204]


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize("path", OTHERS)
def test_the_logins_may_read_what_is_of_no_run(client: TestClient, path: str) -> None:
    assert client.get(f"/api/v2/{path}").status_code == 200


@pytest.mark.usefixtures("ended")
def test_the_login_that_changes_may_change_what_is_of_no_run(
    client: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    make_keys_file(tmp_path / "home")
    day = seed.START + seed.DAY
    plan = {"dag_id": "etl", "from_date": day.isoformat(), "to_date": day.isoformat()}
    connection = {"connection_id": "c", "conn_type": "http", "password": "p"}
    answers = [
        client.post("/api/v2/pools", json={"name": "p", "slots": 1}),
        client.patch("/api/v2/pools/p", json={"slots": 2}),
        client.delete("/api/v2/pools/p"),
        client.post("/api/v2/variables", json={"key": "v", "value": 1}),
        client.patch("/api/v2/variables/v", json={"key": "v", "value": 2}),
        client.get("/api/v2/variables/v"),
        client.delete("/api/v2/variables/v"),
        client.post("/api/v2/connections", json=connection),
        client.patch("/api/v2/connections/c", json={**connection, "host": "h"}),
        client.get("/api/v2/connections/c"),
        client.delete("/api/v2/connections/c"),
        client.post("/api/v2/backfills/dry_run", json=plan),
        client.post("/api/v2/backfills", json=plan),
        client.put("/api/v2/backfills/1/pause"),
        client.put("/api/v2/backfills/1/unpause"),
        client.put("/api/v2/backfills/1/cancel"),
        client.get("/api/v2/backfills/1"),
    ]

    statuses = [answer.status_code for answer in answers]
    made = [201, 200, 204], [201, 200, 200, 204], [201, 200, 200, 204], [200] * 6
    assert statuses == [status for each in made for status in each]
