"""Params through Airflow's API: they are described, and what they do not allow is refused."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text
from tests.integration.api.conftest import Airflow

from headway.domain.dag.param_schema import ParamSchema
from headway.testing.data import seed

LIMIT = ParamSchema(name="limit", schema={"type": "integer", "maximum": 9}, description="Rows")
CITY = ParamSchema(name="city")
OWN = replace(seed.task("a"), params={"limit": 2}, param_schemas=(LIMIT,))
DAG = replace(
    seed.dag(OWN, seed.task("b")),
    params={"city": "Oslo", "limit": 3},
    param_schemas=(LIMIT, CITY),
)
SHOWN = {"value": 3, "schema": {"type": "integer", "maximum": 9}, "description": "Rows"}


def test_params_are_described_with_their_schemas(airflow: Airflow) -> None:
    seed.store(airflow.api.engine, DAG)
    client = airflow.api.client(airflow.api.token("ann"))

    found = client.get("/api/v2/dags/etl/details").json()["params"]
    first, second = client.get("/api/v2/dags/etl/tasks").json()["tasks"]

    assert list(found) == ["limit", "city"]
    assert found["limit"] == SHOWN
    assert found["city"] == {"value": "Oslo", "schema": {}, "description": None}
    assert (first["params"], second["params"]) == ({"limit": {**SHOWN, "value": 2}}, {})


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({"limit": 10}, "DAG etl: param 'limit' is 10 and must be at most 9"),
        ({"limt": 1}, "DAG etl has no param 'limt' for 1; did you mean limit?"),
    ],
)
def test_a_conf_that_does_not_fit_makes_no_run(
    airflow: Airflow, conf: dict[str, Any], said: str
) -> None:
    seed.store(airflow.api.engine, DAG)
    client = airflow.api.client(airflow.api.token("ann"))

    answer = client.post("/api/v2/dags/etl/dagRuns", json={"conf": conf})
    dates = {"from_date": "2024-01-01T00:00:00Z", "to_date": "2024-01-02T00:00:00Z"}
    body = {"dag_id": "etl", **dates, "dag_run_conf": conf}
    backfills = [client.post(f"/api/v2/backfills{way}", json=body) for way in ("", "/dry_run")]

    for refused in (answer, *backfills):
        assert refused.status_code == 422, refused.text
        assert said in refused.text
    with airflow.api.engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM dag_run")) == 0
        assert conn.scalar(text("SELECT count(*) FROM backfill")) == 0
    assert client.post("/api/v2/dags/etl/dagRuns", json={"conf": {"limit": 9}}).status_code == 200
