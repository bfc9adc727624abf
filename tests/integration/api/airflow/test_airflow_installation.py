"""Release, health, processes and pools through Airflow's client, as it is."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.job_api import JobApi
from airflow_client.client.api.monitor_api import MonitorApi
from airflow_client.client.api.pool_api import PoolApi
from airflow_client.client.api.version_api import VersionApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.pool_body import PoolBody
from airflow_client.client.models.pool_patch_body import PoolPatchBody
from sqlalchemy import Engine, text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Airflow

from headway import __version__
from headway.domain.accounts import AccountRole
from headway.testing.data import seed


def status_of(call: Callable[[], object]) -> int:
    with pytest.raises(ApiException) as refused:
        call()
    return int(refused.value.status)


def test_the_release_is_told(airflow_client: ApiClient) -> None:
    assert VersionApi(airflow_client).get_version().version == __version__


def test_health_follows_heartbeats(engine: Engine, airflow_client: ApiClient) -> None:
    api = MonitorApi(airflow_client)
    before = api.get_health()
    seed.register(engine, "scheduler")
    seed.register(engine, "parser")
    with engine.begin() as conn:
        late = "UPDATE process_beat SET beat_at = beat_at - interval '1 hour' FROM process"
        conn.execute(text(f"{late} WHERE id = process_id AND kind = 'parser'"))
    after = api.get_health()

    assert before.metadatabase.status == "healthy"
    assert before.dag_processor is not None
    assert after.dag_processor is not None
    assert (before.scheduler.status, before.dag_processor.status) == ("unhealthy", "unhealthy")
    assert before.scheduler.latest_scheduler_heartbeat is None
    assert (after.scheduler.status, after.dag_processor.status) == ("healthy", "unhealthy")
    assert after.scheduler.latest_scheduler_heartbeat is not None
    assert after.dag_processor.latest_dag_processor_heartbeat is not None
    assert after.triggerer.status is None


def test_processes_are_listed_as_jobs(engine: Engine, airflow_client: ApiClient) -> None:
    for kind in ("scheduler", "worker", "parser"):
        seed.register(engine, kind)
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now() WHERE kind = 'worker'"))
    api = JobApi(airflow_client)

    found = api.get_jobs(order_by=["-id"])
    first = found.jobs[0]

    types = [(it.job_type, it.state) for it in found.jobs]
    assert types == [
        ("DagProcessorJob", "running"),
        ("WorkerJob", "ended"),
        ("SchedulerJob", "running"),
    ]
    assert found.total_entries == 3
    assert (first.hostname, first.end_date) == ("host", None)
    assert api.get_jobs(is_alive=True).total_entries == 2
    assert api.get_jobs(job_state="ended").total_entries == 1
    assert api.get_jobs(job_type="SchedulerJob").total_entries == 1
    assert api.get_jobs(hostname="none").total_entries == 0
    assert first.start_date is not None
    later = first.start_date + timedelta(hours=1)
    assert api.get_jobs(start_date_gte=later).total_entries == 0
    assert api.get_jobs(end_date_lt=later).total_entries == 1
    assert status_of(lambda: api.get_jobs(job_type="TriggererJob")) == 422
    assert status_of(lambda: api.get_jobs(is_alive=True, job_state="ended")) == 422
    assert status_of(lambda: api.get_jobs(executor_class="x")) == 422


def test_who_sees_some_bundles_alone_is_refused_the_processes(airflow: Airflow) -> None:
    client = airflow.client("ann", AccountRole.OPERATOR, ("main",))

    assert status_of(JobApi(client).get_jobs) == 403


def test_a_pool_is_created_changed_and_deleted(engine: Engine, airflow_client: ApiClient) -> None:
    api = PoolApi(airflow_client)

    made = api.post_pool(PoolBody(name="a_/ b", slots=3, description="For b."))
    more = api.patch_pool("a_/ b", PoolPatchBody(slots=5, include_deferred=True))
    masked = api.patch_pool(
        "a_/ b", PoolPatchBody(slots=9, description="Else."), update_mask=["description"]
    )
    shown = api.get_pool("a_/ b")
    api.delete_pool("a_/ b")

    assert (made.slots, made.open_slots, made.include_deferred) == (3, 3, False)
    assert (more.slots, more.description, more.include_deferred) == (5, "For b.", True)
    assert (masked.slots, masked.description) == (5, "Else.")
    assert shown == masked
    assert status_of(lambda: api.get_pool("a_/ b")) == 404
    with engine.connect() as conn:
        actors = text("SELECT DISTINCT actor FROM event WHERE action LIKE 'pool.%'")
        assert conn.scalars(actors).all() == ["token:airflow/test"]


def test_the_slots_of_a_pool_are_counted(engine: Engine, airflow_client: ApiClient) -> None:
    seed.make_pool(engine, "small", 4)
    seed.running(engine, seed.in_pool(seed.wide(2), "small"))

    pool = PoolApi(airflow_client).get_pool("small")

    taken = pool.running_slots + pool.queued_slots
    assert (pool.slots, taken, pool.occupied_slots, pool.open_slots) == (4, 2, 2, 2)


def test_pools_are_listed(engine: Engine, airflow_client: ApiClient) -> None:
    for name in ("small", "SMALL", "s_all"):
        seed.make_pool(engine, name, 1)
    api = PoolApi(airflow_client)

    every = api.get_pools(order_by=["-name"])

    assert {pool.name for pool in every.pools} == {"default_pool", "small", "SMALL", "s_all"}
    assert every.pools[::-1] == api.get_pools().pools
    assert every.total_entries == 4
    assert api.get_pools(limit=1, offset=3).total_entries == 4
    assert len(api.get_pools(limit=1, offset=3).pools) == 1
    assert {pool.name for pool in api.get_pools(pool_name_pattern="mall").pools} == {
        "small",
        "SMALL",
    }
    assert api.get_pool("s_all").name == "s_all"
    assert api.get_pool("SMALL").name == "SMALL"


def test_a_pool_that_cannot_be_is_refused(airflow_client: ApiClient, admin: TestClient) -> None:
    api = PoolApi(airflow_client)

    assert status_of(lambda: api.post_pool(PoolBody(name="default_pool", slots=1))) == 409
    assert status_of(lambda: api.post_pool(PoolBody(name="a", slots=-1))) == 422
    assert status_of(lambda: api.post_pool(PoolBody(name="a", slots=1, team_name="t"))) == 422
    assert status_of(lambda: api.patch_pool("none", PoolPatchBody(slots=1))) == 404
    other = PoolPatchBody(pool="other", slots=1)
    assert status_of(lambda: api.patch_pool("default_pool", other)) == 422
    mask = {"update_mask": "nothing"}
    answer = admin.patch("/api/v2/pools/default_pool", params=mask, json={"slots": 1})
    assert (answer.status_code, "nothing" in answer.json()["detail"]) == (422, True)
    assert status_of(lambda: api.delete_pool("default_pool")) == 409
    assert status_of(lambda: api.delete_pool("none")) == 404


def test_a_rehearsal_changes_no_pool(admin: TestClient) -> None:
    dry = {"dry_run": True}
    made = admin.post("/api/v2/pools", params=dry, json={"name": "a", "slots": 1})
    changed = admin.patch("/api/v2/pools/default_pool", params=dry, json={"slots": 1})

    assert (made.json()["slots"], changed.json()["slots"]) == (1, 1)
    assert admin.get("/api/v2/pools/a").status_code == 404
    assert admin.get("/api/v2/pools/default_pool").json()["slots"] > 1


def test_an_operator_changes_no_pool(airflow: Airflow) -> None:
    api = PoolApi(airflow.client("operator", AccountRole.OPERATOR))

    assert api.get_pool("default_pool").name == "default_pool"
    assert status_of(lambda: api.post_pool(PoolBody(name="a", slots=1))) == 403
    assert status_of(lambda: api.patch_pool("default_pool", PoolPatchBody(slots=1))) == 403
    assert status_of(lambda: api.delete_pool("default_pool")) == 403


def test_a_pool_that_no_dag_of_the_bundles_names_is_not_there(
    engine: Engine, airflow: Airflow
) -> None:
    for name in ("mine", "theirs"):
        seed.make_pool(engine, name, 1)
    seed.store(engine, seed.in_pool(seed.dag(dag_id="a"), "mine"))
    api = PoolApi(airflow.client("ann", AccountRole.VIEWER, ("main",)))

    assert [pool.name for pool in api.get_pools().pools] == ["mine"]
    assert api.get_pool("mine").name == "mine"
    assert status_of(lambda: api.get_pool("theirs")) == 404
