"""The page of an attempt in Spark: how far it is while it runs, then what it took."""

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, sql

from headway.db.core.attempt_keys import AttemptKey
from headway.testing.data import seed

PAGE = f"/dags/etl/runs/{RUN}/tasks/work/attempts/1/spark"
PROGRESS = '{"stages": 11, "stages_done": 7, "tasks": 13, "tasks_done": 8, "rate": 2.5}'
FIGURES = '{"tasks": 9, "spilled_bytes": 2048, "skew": 6.5, "skew_stage": 3, "tasks_failed": 2}'


@pytest.fixture
def running(api: Api) -> list[AttemptKey]:
    """An attempt that runs, and uses Spark."""
    keys = seed.running(api.engine, seed.dag())
    sql(api.engine, """UPDATE task_attempt SET handle = '{"application_id": "app-1"}'""")
    return keys


def store(api: Api, column: str, value: str) -> None:
    sql(
        api.engine,
        f"INSERT INTO spark_work (task_instance_id, attempt, updated_at, {column}) "
        "SELECT task_instance_id, attempt, now(), CAST(:value AS json) FROM task_attempt",
        value=value,
    )


def test_what_runs_says_how_far_it_is(
    api: Api, running: list[AttemptKey], viewer: TestClient
) -> None:
    assert "Nothing is known yet" in viewer.get(PAGE).text
    store(api, "progress", PROGRESS)

    page = viewer.get(PAGE).text

    assert "7 of 11" in page
    assert "app-1" in page
    assert "8 of 13 tasks" in viewer.get(f"/dags/etl/runs/{RUN}").text


def test_what_went_badly_comes_first(
    api: Api, running: list[AttemptKey], viewer: TestClient
) -> None:
    store(api, "figures", FIGURES)
    seed.report(api.engine, running)

    page = viewer.get(PAGE).text

    assert "How far it is" not in page
    assert page.index("2.0 KiB did not fit") < page.index("What it took")
    assert "The longest task of stage 3 took 6.5 times" in page
    assert "2 of Spark&#39;s tasks failed" in page


def test_what_is_stored_that_makes_no_sense_is_left_out(
    api: Api, running: list[AttemptKey], viewer: TestClient
) -> None:
    store(api, "progress", '{"tasks": "many"}')
    assert viewer.get(PAGE).status_code == 200
    assert viewer.get(f"/dags/etl/runs/{RUN}").status_code == 200


def test_an_attempt_without_spark_is_not_here(
    running: list[AttemptKey], viewer: TestClient
) -> None:
    assert viewer.get(PAGE.replace("attempts/1", "attempts/2")).status_code == 404
