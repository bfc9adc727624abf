"""Backfills through Airflow's client, as it is."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.backfill_api import BackfillApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.backfill_post_body import BackfillPostBody
from airflow_client.client.models.reprocess_behavior import ReprocessBehavior
from sqlalchemy import Engine, text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Airflow

from headway.domain.accounts import AccountRole
from headway.testing.data import seed


def body(last: int = 2, dag_id: str = "etl", **more: Any) -> BackfillPostBody:
    end = seed.START + last * seed.DAY
    return BackfillPostBody(dag_id=dag_id, from_date=seed.START, to_date=end, **more)


def days(*numbers: int) -> list[datetime]:
    return [seed.START + number * seed.DAY for number in numbers]


def status_of(call: Callable[[], object]) -> int:
    with pytest.raises(ApiException) as refused:
        call()
    return int(refused.value.status)


def runs(engine: Engine) -> list[tuple[str, str]]:
    with engine.connect() as conn:
        found = conn.execute(text("SELECT run_id, conf::text FROM dag_run ORDER BY schedule_date"))
        return [tuple(row) for row in found]


@pytest.fixture(autouse=True)
def dags(engine: Engine) -> None:
    """Two DAGs, one of another bundle; the first has a run of the second day."""
    seed.store(engine, seed.dag(dag_id="hidden"))
    seed.create_runs(engine, seed.store(engine, seed.dag()), [1])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET bundle = 'other' WHERE dag_id = 'hidden'"))


def test_a_plan_names_the_dates_that_get_a_run(engine: Engine, airflow_client: ApiClient) -> None:
    api = BackfillApi(airflow_client)

    forward = api.create_backfill_dry_run(body())
    backward = api.create_backfill_dry_run(body(run_backwards=True))

    assert [it.logical_date for it in forward.backfills] == days(0, 2)
    assert [it.logical_date for it in backward.backfills] == days(2, 0)
    assert forward.total_entries == 2
    assert len(runs(engine)) == 1


def test_a_backfill_is_created_with_what_was_asked_for(
    engine: Engine, airflow_client: ApiClient
) -> None:
    api = BackfillApi(airflow_client)

    made = api.create_backfill(
        body(
            dag_run_conf={"rows": 5},
            max_active_runs=3,
            reprocess_behavior=ReprocessBehavior.FAILED,
        )
    )

    assert (made.dag_id, made.max_active_runs, made.is_paused) == ("etl", 3, False)
    assert made.reprocess_behavior is ReprocessBehavior.FAILED
    assert (made.from_date, made.to_date) == tuple(days(0, 2))
    assert made.completed_at is None
    assert [json.loads(conf) for _, conf in runs(engine)] == [{"rows": 5}, {}, {"rows": 5}]
    with engine.connect() as conn:
        event = text("SELECT actor FROM event WHERE action = 'backfill.create'")
        assert conn.scalars(event).all() == ["token:airflow/test"]


def test_a_backfill_is_paused_resumed_and_cancelled(airflow_client: ApiClient) -> None:
    api = BackfillApi(airflow_client)
    number = api.create_backfill(body()).id

    paused = api.pause_backfill(number)
    again = api.pause_backfill(number)
    resumed = api.unpause_backfill(number)
    cancelled = api.cancel_backfill(number)

    assert [it.is_paused for it in (paused, again, resumed)] == [True, True, False]
    assert cancelled.updated_at > cancelled.created_at
    assert api.get_backfill(number) == cancelled
    assert status_of(lambda: api.cancel_backfill(number)) == 409
    assert status_of(lambda: api.pause_backfill(number)) == 409
    assert status_of(lambda: api.unpause_backfill(number)) == 409


def test_backfills_are_listed(airflow_client: ApiClient) -> None:
    api = BackfillApi(airflow_client)
    numbers = [api.create_backfill(body(last)).id for last in (0, 2)]
    api.create_backfill(body(dag_id="hidden"))

    found = api.list_backfills("etl")
    latest = api.list_backfills("etl", order_by=["-id"], limit=1)

    assert [it.id for it in found.backfills] == numbers
    assert found.total_entries == 2
    assert ([it.id for it in latest.backfills], latest.total_entries) == (numbers[1:], 2)
    assert api.list_backfills("~").total_entries == 3


def test_a_backfill_that_cannot_be_is_refused(airflow_client: ApiClient, admin: TestClient) -> None:
    api = BackfillApi(airflow_client)

    assert status_of(lambda: api.create_backfill(body(dag_id="none"))) == 404
    assert status_of(lambda: api.create_backfill_dry_run(body(dag_id="none"))) == 404
    assert status_of(lambda: api.create_backfill(body(max_active_runs=0))) == 422
    assert status_of(lambda: api.get_backfill(99)) == 404
    api.create_backfill(body())
    assert status_of(lambda: api.create_backfill(body())) == 409
    unknown = {**body().to_dict(), "unknown": 1}
    shown = json.loads(json.dumps(unknown, default=str))
    assert admin.post("/api/v2/backfills", json=shown).status_code == 422


@pytest.mark.parametrize("key", [None, "once"])
def test_a_rehearsal_creates_nothing_and_a_key_creates_once(
    engine: Engine, admin: TestClient, key: str | None
) -> None:
    given = json.loads(body().to_json())
    if key is None:
        answer = admin.post("/api/v2/backfills?dry_run=true", json=given)
        assert (answer.status_code, answer.json()["dag_id"]) == (200, "etl")
        assert len(runs(engine)) == 1
        return
    headers = {"Idempotency-Key": key}
    first, second = (
        admin.post("/api/v2/backfills", json=given, headers=headers).json() for _ in range(2)
    )
    assert first == second
    assert len(runs(engine)) == 3


def test_a_viewer_plans_and_changes_nothing(airflow: Airflow, airflow_client: ApiClient) -> None:
    number = BackfillApi(airflow_client).create_backfill(body()).id
    api = BackfillApi(airflow.client("viewer", AccountRole.VIEWER))

    assert api.get_backfill(number).id == number
    for call in (
        lambda: api.create_backfill(body(5)),
        lambda: api.create_backfill_dry_run(body(5)),
        lambda: api.pause_backfill(number),
        lambda: api.unpause_backfill(number),
        lambda: api.cancel_backfill(number),
    ):
        assert status_of(call) == 403


def test_backfills_of_other_bundles_are_not_there(
    airflow: Airflow, airflow_client: ApiClient
) -> None:
    number = BackfillApi(airflow_client).create_backfill(body(dag_id="hidden")).id
    api = BackfillApi(airflow.client("operator", AccountRole.OPERATOR, ("main",)))

    assert api.list_backfills("~").total_entries == 0
    for call in (
        lambda: api.list_backfills("hidden"),
        lambda: api.get_backfill(number),
        lambda: api.pause_backfill(number),
        lambda: api.unpause_backfill(number),
        lambda: api.cancel_backfill(number),
        lambda: api.create_backfill(body(dag_id="hidden")),
        lambda: api.create_backfill_dry_run(body(dag_id="hidden")),
    ):
        assert status_of(call) == 404
