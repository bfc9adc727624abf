"""Deadlines, messages and cost: what is there, and what to do where nothing is."""

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import sql

from headway.testing.data import seed


@pytest.fixture
def run(engine: Engine) -> int:
    """A run with a task that has succeeded."""
    found = seed.start_run(engine, seed.dag(seed.task("a")))
    seed.finish(engine)
    return found


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/deadlines", "No run has a deadline. A DAG or a task gets one by"),
        ("/deadlines?state=missed", "No deadline matches"),
        ("/messages", "Nobody was notified of anything"),
        ("/messages?kind=callbacks", "No DAG has a callback that was due"),
        ("/messages?state=failed", "Nothing matches"),
        ("/cost", "No attempt that ended then has used Spark"),
    ],
)
def test_an_empty_list_says_why(viewer: TestClient, path: str, said: str) -> None:
    assert said in viewer.get(path).text


def test_days_in_the_wrong_order_are_refused(viewer: TestClient) -> None:
    answer = viewer.get("/cost?since=2024-02-01&until=2023-01-01")
    assert answer.status_code == 422
    assert "in this order" in answer.text


def test_cost_has_the_largest_dag_first(api: Api, run: int, viewer: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("b"), dag_id="small"))
    seed.finish(api.engine)
    sql(api.engine, "UPDATE task_attempt SET handle = '{}'")
    sql(
        api.engine,
        "INSERT INTO spark_work (task_instance_id, attempt, updated_at, figures) "
        "SELECT it.task_instance_id, it.attempt, now(), json_build_object('tasks', 8, 'skew', 6.5, "
        "'spilled_bytes', 2048, 'executor_run_ms', "
        "CASE run.dag_id WHEN 'etl' THEN 90000 ELSE 1000 END) "
        "FROM task_attempt AS it JOIN task_instance AS task ON task.id = it.task_instance_id "
        "JOIN dag_run AS run ON run.id = task.dag_run_id",
    )

    page = viewer.get("/cost").text

    assert page.index(">etl</a>") < page.index(">small</a>")
    assert "1 min 30 s" in page
    assert 'class="number warns">2.0 KiB' in page
    assert "6.5 \N{MULTIPLICATION SIGN}" in page
    assert "scheduled__" in viewer.get("/cost?dag=etl").text


def test_the_form_of_cost_may_be_left_empty(viewer: TestClient) -> None:
    assert viewer.get("/cost?dag=&since=&until=").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/cost?until=9999-12-31",
        "/dags/etl/calendar?month=9999-12",
        "/dags/etl/calendar?month=0001-01",
        f"/backfills/new?dag=etl&dates=2024-01-01&rollup={'9' * 5_000}",
        f"/backfills/new?dag=etl&dates=2024-01-01&conf={'[' * 20_000}",
    ],
)
def test_what_is_out_of_range_is_refused(api: Api, run: int, path: str) -> None:
    with api.client(api.token("ada")) as client:
        client.headers["Accept"] = "text/html"
        answer = client.get(path)
    assert answer.status_code in {200, 422}
    assert answer.status_code == 422 or 'role="alert"' in answer.text


def test_a_reason_is_in_the_journal(api: Api, run: int) -> None:
    with api.client(api.token("ada")) as client:
        client.headers["Accept"] = "text/html"
        client.post("/dags/etl/pause", data={"reason": "incident 12"})
        assert "incident 12" in client.get("/journal").text


def test_a_worker_drains_after_a_preview(api: Api, run: int, viewer: TestClient) -> None:
    seed.register(api.engine, "worker")
    with api.client(api.token("ada")) as client:
        client.headers["Accept"] = "text/html"
        listed = client.get("/processes").text
        path = listed.split('aria-label="Drain worker')[0].rpartition('href="')[2].rstrip('" ')
        assert viewer.post(path, data={}).status_code == 403
        assert "takes no more attempts" in client.get(path).text
        assert "drains" not in client.get("/processes").text
        client.post(path, data={"reason": "a new kernel"})
        assert "drains" in client.get("/processes").text
        assert "a new kernel" in client.get("/journal").text
        assert client.get("/processes/4711/drain").status_code == 404
