"""Runs are listed in any order, and by how long they took, through Airflow's client, as it is."""

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.dag_run_api import DagRunApi
from airflow_client.client.models.dag_runs_batch_body import DAGRunsBatchBody
from sqlalchemy import Engine, text
from tests.integration.api.airflow.test_airflow_runs import DAYS, IDS, ids, refused

from headway.testing.data import seed
from headway_api.airflow import sorted_lists


@pytest.fixture
def runs(engine: Engine) -> None:
    """Five runs of etl, and one of the DAG other."""
    seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="other")), [0])
    seed.create_runs(engine, seed.store(engine, seed.dag()), range(DAYS))


def lasting(engine: Engine, *seconds: int) -> None:
    """Have the first runs of the DAG ended after so many seconds; the others have not begun."""
    ended = text("""
        UPDATE dag_run SET state = 'success', started_at = :at,
                           ended_at = CAST(:at AS timestamptz) + make_interval(secs => :seconds)
         WHERE run_id = :run AND dag_id = 'etl'
    """)
    with engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        for run_id, took in zip(IDS, seconds, strict=False):
            conn.execute(ended, {"run": run_id, "at": seed.START, "seconds": took})


@pytest.mark.usefixtures("runs")
def test_a_short_list_of_runs_is_in_any_order(airflow_client: ApiClient, engine: Engine) -> None:
    lasting(engine, 30, 10, 20)
    api = DagRunApi(airflow_client)

    def found(*order: str, **more: object) -> list[str]:
        return ids(api.get_dag_runs("etl", order_by=list(order), **more).dag_runs)  # type: ignore[arg-type]

    assert found("duration") == [IDS[1], IDS[2], IDS[0], IDS[3], IDS[4]]
    assert found("-duration", limit=3) == [IDS[3], IDS[4], IDS[0]]
    assert found("state", "-dag_run_id") == [IDS[4], IDS[3], IDS[2], IDS[1], IDS[0]]
    assert found("state", "-dag_run_id", limit=2, offset=1) == [IDS[3], IDS[2]]
    batch = api.get_list_dag_runs_batch("~", DAGRunsBatchBody(order_by="-dag_id"))
    assert {run.dag_id for run in batch.dag_runs[1:]} == {"etl"}
    assert refused(lambda: found("duration", cursor="x")).status == 422


@pytest.mark.usefixtures("runs")
def test_a_long_list_of_runs_is_in_no_other_order(
    airflow_client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = DagRunApi(airflow_client)
    monkeypatch.setattr(sorted_lists, "MOST_ROWS", DAYS - 1)

    error = refused(lambda: api.get_dag_runs("etl", order_by=["duration"]))

    assert (error.status, "Filter it more narrowly" in str(error.body)) == (422, True)


@pytest.mark.usefixtures("runs")
def test_runs_are_filtered_by_how_long_they_took(airflow_client: ApiClient, engine: Engine) -> None:
    lasting(engine, 30, 10, 20)
    api = DagRunApi(airflow_client)

    def found(**limits: float) -> list[str]:
        return ids(api.get_dag_runs("~", **limits).dag_runs)  # type: ignore[arg-type]

    assert found(duration_gte=20) == [IDS[0], IDS[2]]
    assert found(duration_gt=20) == [IDS[0]]
    assert found(duration_lte=20) == [IDS[1], IDS[2]]
    assert found(duration_lt=20, duration_gte=5) == [IDS[1]]
    batch = api.get_list_dag_runs_batch("~", DAGRunsBatchBody(duration_gte=30))
    assert ids(batch.dag_runs) == [IDS[0]]
