"""XComs through Airflow's client, as it is."""

import json
import sys

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.x_com_api import XComApi
from airflow_client.client.exceptions import ApiException
from sqlalchemy import Engine
from starlette.testclient import TestClient
from tests.integration.api.conftest import Airflow

from headway.db.execution import xcoms
from headway.domain.accounts import AccountRole
from headway.domain.arguments import JsonValue
from headway.testing.data import seed

RUN = "scheduled__2024-01-01T00:00:00+00:00"
NESTED: JsonValue = {"rows": [1, 2, {"x": None}]}


@pytest.fixture(autouse=True)
def left(engine: Engine) -> None:
    """Two DAGs whose tasks have left XComs."""
    for dag_id in ("etl", "other"):
        [key] = seed.running(engine, seed.dag(dag_id=dag_id))
        with engine.begin() as conn:
            xcoms.push(conn, key, "return_value", NESTED)
            xcoms.push(conn, key, "note", f"of {dag_id}")


def test_the_xcoms_of_a_task_are_listed(airflow_client: ApiClient) -> None:
    found = XComApi(airflow_client).get_xcom_entries("etl", RUN, "work")

    assert [entry.key for entry in found.xcom_entries] == ["note", "return_value"]
    assert found.total_entries == 2
    assert (found.xcom_entries[0].dag_id, found.xcom_entries[0].run_id) == ("etl", RUN)
    assert found.xcom_entries[0].logical_date == seed.START


def test_xcoms_of_everything_are_filtered_and_paged(airflow_client: ApiClient) -> None:
    api = XComApi(airflow_client)

    every = api.get_xcom_entries("~", "~", "~")
    notes = api.get_xcom_entries("~", "~", "~", xcom_key="note", limit=1, offset=1)
    none = api.get_xcom_entries("~", "~", "~", task_id_pattern="nothing")

    assert every.total_entries == 4
    assert [(it.dag_id, it.key) for it in notes.xcom_entries] == [("other", "note")]
    assert (notes.total_entries, none.total_entries) == (2, 0)


def test_the_value_of_an_xcom_is_data_or_its_json_as_text(airflow_client: ApiClient) -> None:
    api = XComApi(airflow_client)

    data = api.get_xcom_entry("etl", "work", RUN, "return_value").to_dict()
    text = api.get_xcom_entry("etl", "work", RUN, "return_value", stringify=True).to_dict()

    assert isinstance(data, dict)
    assert isinstance(text, dict)
    assert data["value"] == NESTED
    assert json.loads(text["value"]) == NESTED


def test_an_object_is_shown_as_it_is_stored(airflow_client: ApiClient, engine: Engine) -> None:
    """The module that it names opens a browser when it is imported."""
    stored: JsonValue = {
        "__headway__": "dataclass",
        "class": "antigravity:Point",
        "fields": {"x": {"__headway__": "bytes", "base64": "A" * 400}},
    }
    [key] = seed.running(engine, seed.dag(dag_id="objects"))
    with engine.begin() as conn:
        xcoms.push(conn, key, "point", stored)

    found = XComApi(airflow_client).get_xcom_entry("objects", "work", RUN, "point").to_dict()

    assert isinstance(found, dict)
    assert found["value"] == stored
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    ("dag_id", "run_id", "task_id", "key"),
    [
        ("etl", RUN, "work", "none"),
        ("etl", RUN, "none", "note"),
        ("etl", "none", "work", "note"),
        ("none", RUN, "work", "note"),
    ],
)
def test_what_is_not_there_is_not_found(
    airflow_client: ApiClient, dag_id: str, run_id: str, task_id: str, key: str
) -> None:
    with pytest.raises(ApiException) as refused:
        XComApi(airflow_client).get_xcom_entry(dag_id, task_id, run_id, key)

    assert refused.value.status == 404


def test_xcoms_of_other_bundles_are_not_there(airflow: Airflow) -> None:
    api = XComApi(airflow.client("ann", AccountRole.VIEWER, ("elsewhere",)))

    assert api.get_xcom_entries("~", "~", "~").total_entries == 0
    for call in (
        lambda: api.get_xcom_entries("etl", RUN, "work"),
        lambda: api.get_xcom_entry("etl", "work", RUN, "note"),
    ):
        with pytest.raises(ApiException) as refused:
            call()
        assert refused.value.status == 404


@pytest.mark.parametrize(
    "parameters", [{"map_index": 1, "map_index_filter": 2}, {"order_by": "key"}, {"unknown": 1}]
)
def test_parameters_that_cannot_be_are_refused(
    admin: TestClient, parameters: dict[str, str | int]
) -> None:
    path = f"/api/v2/dags/etl/dagRuns/{RUN}/taskInstances/work/xcomEntries"

    assert admin.get(path, params=parameters).status_code == 422
