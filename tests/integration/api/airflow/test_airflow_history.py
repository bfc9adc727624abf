"""Versions, code, the journal, problems of files and counts through Airflow's client, as it is."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.dag_source_api import DagSourceApi
from airflow_client.client.api.dag_stats_api import DagStatsApi
from airflow_client.client.api.dag_version_api import DagVersionApi
from airflow_client.client.api.dag_warning_api import DagWarningApi
from airflow_client.client.api.event_log_api import EventLogApi
from airflow_client.client.api.import_error_api import ImportErrorApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.dag_warning_type import DagWarningType
from sqlalchemy import Engine, text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Airflow

from headway.db.core import stored_versions
from headway.domain.accounts import AccountRole
from headway.testing.data import seed

PROBLEMS = """
    UPDATE dag SET bundle = 'other' WHERE dag_id = 'hidden';
    INSERT INTO event (actor, action, dag_id, run_id, task_id, details)
    SELECT 'user:ann', 'run.clear', dag_id, 'r', 't', '{"why": "late"}' FROM dag;
    INSERT INTO event (actor, action) VALUES ('user:bob', 'pool.set');
    INSERT INTO import_error (bundle, relative_path, error)
    SELECT bundle, dag_id || '_.py', 'SyntaxError' FROM dag;
    INSERT INTO dag_file (bundle, relative_path, warning, parsed_at)
    SELECT bundle, relative_path, 'It varies.', now() FROM dag
        ON CONFLICT (bundle, relative_path) DO UPDATE SET warning = excluded.warning;
"""


@pytest.fixture(autouse=True)
def dags(engine: Engine) -> None:
    """A DAG of two versions with three runs, and one of another bundle."""
    seed.store(engine, seed.dag(seed.task("a")))
    version = seed.store(engine, seed.dag(seed.task("a"), seed.task("b")))
    seed.create_runs(engine, version, [0, 1, 2])
    seed.store(engine, seed.dag(dag_id="hidden"))
    with engine.begin() as conn:
        for statement in PROBLEMS.split(";\n"):
            if statement.strip():
                conn.execute(text(statement))


@pytest.fixture
def viewer(airflow: Airflow) -> ApiClient:
    """A client of an account that sees the bundle main alone."""
    return airflow.client("ann", AccountRole.VIEWER, ("main",))


def status_of(call: Callable[[], object]) -> int:
    with pytest.raises(ApiException) as refused:
        call()
    return int(refused.value.status)


def test_the_versions_of_a_dag_are_listed(airflow_client: ApiClient) -> None:
    api = DagVersionApi(airflow_client)

    found = api.get_dag_versions("etl", order_by=["-version_number"])
    second = api.get_dag_version("etl", 2)
    page = api.get_dag_versions("etl", limit=1, offset=1)

    assert [version.version_number for version in found.dag_versions] == [2, 1]
    assert found.total_entries == 2
    assert (second.id, second.bundle_name) == (found.dag_versions[0].id, "main")
    assert [version.version_number for version in page.dag_versions] == [2]
    assert api.get_dag_versions("~").total_entries == 3
    assert api.get_dag_versions("etl", version_number=1).total_entries == 1
    assert status_of(lambda: api.get_dag_version("etl", 3)) == 404


def test_the_versions_of_a_hidden_dag_are_not_there(viewer: ApiClient) -> None:
    api = DagVersionApi(viewer)

    assert {version.dag_id for version in api.get_dag_versions("~").dag_versions} == {"etl"}
    assert status_of(lambda: api.get_dag_versions("hidden")) == 404
    assert status_of(lambda: api.get_dag_version("hidden", 1)) == 404


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version has a DAG file."""
    files = {"etl.py": "hash", "hidden.py": "hash"}
    monkeypatch.setattr(stored_versions, "manifest", lambda _conn, _hash: files)
    monkeypatch.setattr(
        stored_versions, "contents", lambda _conn, hashes: dict.fromkeys(hashes, b"x = 1\xff")
    )


@pytest.mark.usefixtures("code")
def test_the_dag_file_of_a_version_is_shown(airflow_client: ApiClient, admin: TestClient) -> None:
    api = DagSourceApi(airflow_client)

    in_force, first = api.get_dag_source("etl"), api.get_dag_source("etl", version_number=1)
    plain = admin.get("/api/v2/dagSources/etl", headers={"Accept": "text/plain"})

    assert (in_force.version_number, first.version_number) == (2, 1)
    assert in_force.content == "x = 1\\xff"
    assert (plain.text, plain.headers["content-type"][:10]) == ("x = 1\\xff", "text/plain")
    assert status_of(lambda: api.get_dag_source("etl", version_number=9)) == 404


def test_a_version_without_its_file_says_so(admin: TestClient) -> None:
    answer = admin.get("/api/v2/dagSources/etl")

    assert (answer.status_code, answer.json()["code"]) == (404, "version_not_found")


@pytest.mark.usefixtures("code")
def test_the_code_of_a_hidden_dag_is_not_there(viewer: ApiClient) -> None:
    assert status_of(lambda: DagSourceApi(viewer).get_dag_source("hidden")) == 404


def test_the_journal_is_listed_filtered_and_ordered(airflow_client: ApiClient) -> None:
    api = EventLogApi(airflow_client)

    cleared = api.get_event_logs(event="run.clear", dag_id="etl")
    latest = api.get_event_logs(order_by=["-when"], limit=1)
    [entry] = cleared.event_logs
    one = api.get_event_log(entry.event_log_id)

    assert (entry.owner, entry.run_id, entry.task_id) == ("user:ann", "r", "t")
    assert json.loads(entry.extra or "") == {"why": "late"}
    assert one == entry
    assert latest.event_logs[0].event_log_id > entry.event_log_id
    assert api.get_event_logs(owner="user:bob").total_entries == 1
    assert api.get_event_logs(owner_prefix_pattern="user:b").total_entries == 1
    assert api.get_event_logs(excluded_events=["run.clear"], owner="user:ann").total_entries == 0
    assert api.get_event_logs(event="run.clear", included_events=["x"]).total_entries == 0
    assert api.get_event_logs(event="run.clear", before=entry.when).total_entries == 0
    later = entry.when + timedelta(microseconds=1)
    assert api.get_event_logs(event="run.clear", before=later).total_entries == 2
    assert api.get_event_logs(event="run.clear", after=later).total_entries == 0
    assert status_of(lambda: api.get_event_log(10**9)) == 404


def test_the_journal_of_other_bundles_is_not_there(
    airflow_client: ApiClient, viewer: ApiClient
) -> None:
    whole, part = EventLogApi(airflow_client), EventLogApi(viewer)
    [hidden] = whole.get_event_logs(dag_id="hidden", event="run.clear").event_logs

    assert {entry.dag_id for entry in part.get_event_logs().event_logs} == {"etl"}
    assert status_of(lambda: part.get_event_log(hidden.event_log_id)) == 404


def test_import_errors_are_listed_and_found(airflow_client: ApiClient) -> None:
    api = ImportErrorApi(airflow_client)

    found = api.get_import_errors()
    first, second = found.import_errors
    one = api.get_import_error(second.import_error_id)

    assert [(it.bundle_name, it.filename) for it in found.import_errors] == [
        ("main", "etl_.py"),
        ("other", "hidden_.py"),
    ]
    assert one == second
    assert (first.stack_trace, found.total_entries) == ("SyntaxError", 2)
    assert api.get_import_errors(filename="etl_.py").total_entries == 1
    assert api.get_import_errors(filename="etl%.py").total_entries == 0
    assert api.get_import_errors(filename_pattern="HIDDEN").total_entries == 1
    assert api.get_import_errors(bundle_name="none").total_entries == 0
    assert status_of(lambda: api.get_import_error(1)) == 404


def test_import_errors_of_other_bundles_are_not_there(
    airflow_client: ApiClient, viewer: ApiClient
) -> None:
    hidden = ImportErrorApi(airflow_client).get_import_errors(bundle_name="other").import_errors[0]
    api = ImportErrorApi(viewer)

    assert [it.bundle_name for it in api.get_import_errors().import_errors] == ["main"]
    assert status_of(lambda: api.get_import_error(hidden.import_error_id)) == 404


def test_warnings_are_listed_by_dag(airflow_client: ApiClient, viewer: ApiClient) -> None:
    found = DagWarningApi(airflow_client).list_dag_warnings()

    assert [it.dag_id for it in found.dag_warnings] == ["etl", "hidden"]
    assert found.dag_warnings[0].message == "It varies."
    of_one = DagWarningApi(airflow_client).list_dag_warnings(dag_id="hidden")
    of_type = DagWarningApi(airflow_client).list_dag_warnings(
        warning_type=DagWarningType.ASSET_CONFLICT
    )
    assert (of_one.total_entries, of_type.total_entries) == (1, 0)
    assert [it.dag_id for it in DagWarningApi(viewer).list_dag_warnings().dag_warnings] == ["etl"]


def test_runs_are_counted_by_state(airflow_client: ApiClient, viewer: ApiClient) -> None:
    every = DagStatsApi(airflow_client).get_dag_stats()
    one = DagStatsApi(airflow_client).get_dag_stats(dag_ids=["etl", "none"])
    seen = DagStatsApi(viewer).get_dag_stats(dag_ids=["etl", "hidden"])

    assert [dag.dag_id for dag in every.dags] == ["etl", "hidden"]
    assert {it.state.value: it.count for it in one.dags[0].stats} == {
        "queued": 3,
        "running": 0,
        "success": 0,
        "failed": 0,
    }
    assert one.total_entries == 1
    assert [dag.dag_id for dag in seen.dags] == ["etl"]
