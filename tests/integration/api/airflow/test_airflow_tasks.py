"""Tasks and task instances through Airflow's client, as it is: what is read of them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.dag_run_api import DagRunApi
from airflow_client.client.api.task_api import TaskApi
from airflow_client.client.api.task_instance_api import TaskInstanceApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.task_instance_response import TaskInstanceResponse
from airflow_client.client.models.task_instance_state import TaskInstanceState
from airflow_client.client.models.task_instances_batch_body import TaskInstancesBatchBody
from sqlalchemy import Engine, text
from tests.integration.api.conftest import Airflow

from headway.db.execution.attempts import name_instance
from headway.db.scheduling import tasks
from headway.domain.accounts import AccountRole
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.data.forced import force

RUN = f"scheduled__{seed.START.isoformat()}"
A = replace(seed.task("a"), retries=3, retry_delay=90.5, pool_slots=2, doc_md="About a.")
B = replace(seed.task("b", "a"), execution_timeout=3600.0, retry_exponential_backoff=True)


@pytest.fixture
def run(engine: Engine) -> None:
    """A run whose task a runs, with b below it; and a run of the DAG secret, of another bundle."""
    seed.start_run(engine, seed.dag(seed.task("t"), dag_id="secret"))
    seed.start_run(engine, seed.dag(A, B))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET bundle = 'other' WHERE dag_id = 'secret'"))
        ready = "SELECT id FROM task_instance WHERE state = 'scheduled' AND dag_id = 'etl'"
        tasks.queue(conn, list(conn.scalars(text(ready))), seed.START, seed.SCHEDULER)
    seed.claim(engine, seed.register(engine, "worker"))


def refused(ask: Callable[[], object]) -> ApiException:
    with pytest.raises(ApiException) as found:
        ask()
    return found.value


def names(instances: list[TaskInstanceResponse]) -> list[str]:
    return [f"{it.dag_id}.{it.task_id}" for it in instances]


@pytest.mark.usefixtures("run")
def test_tasks_are_listed_and_shown_as_they_are_defined(airflow_client: ApiClient) -> None:
    api = TaskApi(airflow_client)

    listed, backwards = api.get_tasks("etl"), api.get_tasks("etl", order_by="-task_id")
    a, b = (api.get_task("etl", task_id) for task_id in "ab")

    assert (listed.total_entries, listed.tasks) == (2, [a, b])
    assert backwards.tasks == [b, a]
    assert (a.downstream_task_ids, a.retries, a.pool_slots, a.doc_md) == (["b"], 3, 2, "About a.")
    assert a.retry_delay is not None
    assert (a.retry_delay.seconds, a.retry_delay.microseconds) == (90, 500_000)
    assert b.execution_timeout is not None
    assert (a.execution_timeout, b.execution_timeout.seconds) == (None, 3600)
    assert (a.retry_exponential_backoff, b.retry_exponential_backoff) == (0, 2)
    assert refused(lambda: api.get_tasks("etl", order_by="pool")).status == 422


@pytest.mark.usefixtures("run")
def test_task_instances_are_listed(airflow_client: ApiClient) -> None:
    api = TaskInstanceApi(airflow_client)

    own = api.get_task_instances("etl", RUN)
    every = api.get_task_instances("~", "~")

    a, b = own.task_instances
    assert own.total_entries == 2
    assert (a.state, b.state) == ("running", None)
    assert (a.try_number, a.max_tries, a.hostname, a.pool_slots) == (1, 3, "host", 2)
    assert isinstance(a.id, UUID)
    assert a.id != b.id
    assert (a.logical_date, a.run_after) == (seed.START, seed.START + seed.DAY)
    assert a.dag_version is not None
    assert a.dag_version.version_number == 1
    assert names(every.task_instances) == ["secret.t", "etl.a", "etl.b"]
    assert api.get_task_instances("~", RUN).total_entries == 3
    assert api.get_task_instances("etl", "~").total_entries == 2


def test_tasks_are_called_what_people_call_them(airflow_client: ApiClient, engine: Engine) -> None:
    named = replace(seed.task("a"), task_display_name="Zoo keeping")
    seed.start_run(engine, seed.dag(named, seed.task("b")))
    instances = TaskInstanceApi(airflow_client)

    def found(**asked: object) -> list[str]:
        listed = instances.get_task_instances("etl", "~", **asked)  # type: ignore[arg-type]
        return [it.task_display_name for it in listed.task_instances]

    shown = TaskApi(airflow_client).get_tasks("etl").tasks

    assert [it.task_display_name for it in shown] == ["Zoo keeping", "b"]
    assert found() == ["Zoo keeping", "b"]
    assert found(order_by=["task_display_name", "state"]) == ["Zoo keeping", "b"]
    assert found(order_by=["-task_display_name", "state"]) == ["b", "Zoo keeping"]
    assert found(task_display_name_pattern="zoo") == ["Zoo keeping"]
    assert found(task_display_name_pattern="a") == []
    assert found(task_display_name_prefix_pattern="b") == ["b"]


@pytest.mark.usefixtures("run")
def test_task_instances_are_filtered(airflow_client: ApiClient) -> None:
    api = TaskInstanceApi(airflow_client)

    def found(**filters: object) -> list[str]:
        return names(api.get_task_instances("~", "~", **filters).task_instances)  # type: ignore[arg-type]

    assert found(state=["running"]) == ["etl.a"]
    assert found(state=["none", "running"]) == ["etl.a", "etl.b"]
    assert found(state=["up_for_reschedule"]) == []
    assert found(task_id="t") == ["secret.t"]
    assert found(task_display_name_pattern="B") == ["etl.b"]
    assert found(dag_id_prefix_pattern="sec") == ["secret.t"]
    assert found(try_number=[1]) == ["etl.a"]
    assert found(pool=["none"]) == []
    assert found(operator=["empty"]) == ["secret.t", "etl.a", "etl.b"]
    assert found(logical_date_gt=seed.START) == []
    assert found(start_date_gte=seed.START) == ["etl.a"]
    assert found(order_by=["-id"]) == ["etl.b", "etl.a", "secret.t"]
    assert found(order_by=["-start_date", "task_display_name"]) == ["etl.b", "secret.t", "etl.a"]
    assert found(order_by=["start_date", "-task_display_name"]) == ["etl.a", "secret.t", "etl.b"]
    assert found(order_by=["state"], limit=1, offset=1) == ["secret.t"]
    assert refused(lambda: found(order_by=["note"])).status == 422
    assert found(pool_name_pattern="default") == ["secret.t", "etl.a", "etl.b"]
    assert found(queue_name_pattern="none") == []
    assert found(operator_name_prefix_pattern="emp") == ["secret.t", "etl.a", "etl.b"]
    assert found(operator_name_pattern="bash") == []
    assert found(version_number=[2]) == []
    assert found(version_number=[1, 2]) == ["secret.t", "etl.a", "etl.b"]
    assert found(duration_gte=0) == []
    assert refused(lambda: found(executor=["x"])).status == 422
    assert refused(lambda: found(state=["broken"])).status == 422


@pytest.mark.usefixtures("run")
def test_task_instances_are_paged_by_cursor(airflow_client: ApiClient) -> None:
    api = TaskInstanceApi(airflow_client)

    first = api.get_task_instances("~", "~", cursor="", limit=2)
    second = api.get_task_instances("~", "~", cursor=first.next_cursor, limit=2)
    back = api.get_task_instances("~", "~", cursor=second.previous_cursor, limit=2)
    by_offset = api.get_task_instances("~", "~", limit=2, offset=2)

    assert names(first.task_instances) == ["secret.t", "etl.a"]
    assert names(second.task_instances) == names(by_offset.task_instances) == ["etl.b"]
    assert names(back.task_instances) == names(first.task_instances)
    assert {it.total_entries for it in (first, second, back, by_offset)} == {3}
    assert (second.next_cursor, back.previous_cursor, first.total_entries_limit) == (None,) * 2 + (
        1000,
    )


@pytest.mark.usefixtures("run")
def test_task_instances_of_several_runs_are_listed_by_a_body(airflow_client: ApiClient) -> None:
    api = TaskInstanceApi(airflow_client)

    def found(**wanted: object) -> list[str]:
        body = TaskInstancesBatchBody(**wanted)  # type: ignore[arg-type]
        return names(api.get_task_instances_batch("~", "~", body).task_instances)

    assert found(dag_ids=["etl"], dag_run_ids=[RUN]) == ["etl.a", "etl.b"]
    assert found(dag_ids=["etl"], dag_run_ids=[RUN, "x"], task_ids=["b", "t"]) == ["etl.b"]
    assert found(dag_run_ids=["x"]) == []
    assert found(state=[TaskInstanceState.RUNNING, None]) == ["etl.a", "etl.b"]
    assert found(page_limit=1, page_offset=1) == ["etl.a"]
    body = TaskInstancesBatchBody()
    assert refused(lambda: api.get_task_instances_batch("etl", "~", body)).status == 422


@pytest.mark.usefixtures("run")
def test_a_task_instance_is_shown(airflow_client: ApiClient) -> None:
    api = TaskInstanceApi(airflow_client)

    [listed, _] = api.get_task_instances("etl", RUN).task_instances

    assert api.get_task_instance("etl", RUN, "a") == listed
    assert api.get_mapped_task_instance("etl", RUN, "a", -1) == listed
    assert "without a map index" in str(
        refused(lambda: api.get_mapped_task_instance("etl", RUN, "a", 0)).body
    )


def test_instances_of_a_mapped_task_are_listed_and_shown(
    airflow_client: ApiClient, engine: Engine
) -> None:
    claimed = seed.run_mapped(engine, seed.register(engine, "worker"), 3)
    with engine.begin() as conn:
        name_instance(conn, claimed[1].key, "carrier UA")
    seed.report(engine, [claimed[1].key], Outcome.FAILED, Next(TaskState.FAILED))
    api = TaskInstanceApi(airflow_client)

    listed = api.get_mapped_task_instances("etl", RUN, "m")
    assert [it.rendered_map_index for it in listed.task_instances] == ["0", "carrier UA", "2"]
    last = api.get_mapped_task_instances("etl", RUN, "m", order_by=["-map_index"], limit=1)
    failed = api.get_mapped_task_instances("etl", RUN, "m", state=["failed"])

    assert [it.map_index for it in listed.task_instances] == [0, 1, 2]
    assert [it.map_index for it in last.task_instances] == [2]
    assert [it.map_index for it in failed.task_instances] == [1]
    assert api.get_mapped_task_instance("etl", RUN, "m", 1) == failed.task_instances[0]
    assert api.get_task_instances("etl", RUN, map_index=[2]).total_entries == 1
    assert "0 to 2" in str(refused(lambda: api.get_task_instance("etl", RUN, "m")).body)
    attempts = api.get_mapped_task_instance_tries("etl", RUN, "m", 1)
    assert [it.state for it in attempts.task_instances] == ["failed"]
    one = api.get_mapped_task_instance_try_details("etl", RUN, "m", 1, 1)
    assert one == attempts.task_instances[0]
    assert api.get_task_instance_tries("etl", RUN, "m", map_index=1) == attempts


def test_a_task_that_is_not_mapped_has_no_list_of_instances(
    airflow_client: ApiClient, engine: Engine
) -> None:
    seed.start_run(engine, seed.dag())

    error = refused(
        lambda: TaskInstanceApi(airflow_client).get_mapped_task_instances("etl", RUN, "work")
    )

    assert (error.status, "not mapped" in str(error.body)) == (422, True)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.LOST, "failed"),
        (Outcome.TIMED_OUT, "failed"),
        (Outcome.SKIPPED, "skipped"),
        (Outcome.SUCCESS, "success"),
    ],
)
def test_attempts_are_listed_and_shown(
    airflow: Airflow, engine: Engine, outcome: Outcome, state: str
) -> None:
    keys = seed.running(engine, seed.dag(A))
    seed.report(engine, keys, outcome, Next(TaskState.UP_FOR_RETRY, timedelta(0)))
    client = airflow.client()
    api = TaskInstanceApi(client)

    attempts = api.get_task_instance_tries("etl", RUN, "a")
    plain = api.get_task_instance_tries_without_preload_content("etl", RUN, "a")

    assert (attempts.total_entries, [it.try_number for it in attempts.task_instances]) == (1, [1])
    assert attempts.task_instances[0].state == state
    assert f'"outcome":"{outcome}"'.encode() in plain.read()
    assert api.get_task_instance_try_details("etl", RUN, "a", 1) == attempts.task_instances[0]
    assert refused(lambda: api.get_task_instance_try_details("etl", RUN, "a", 2)).status == 404


def test_attempts_are_listed_from_the_first_to_the_last(
    airflow_client: ApiClient, engine: Engine
) -> None:
    run = seed.start_run(engine, seed.dag(A))
    force(engine, run, a="up_for_retry")
    force(engine, run, a="success")

    attempts = TaskInstanceApi(airflow_client).get_task_instance_tries("etl", RUN, "a")

    assert [it.try_number for it in attempts.task_instances] == [1, 2]
    assert attempts.total_entries == 2


@pytest.mark.usefixtures("run")
def test_what_a_task_instance_waits_for_is_told(airflow_client: ApiClient) -> None:
    api = TaskInstanceApi(airflow_client)

    waits = api.get_task_instance_dependencies("etl", RUN, "b").dependencies
    runs = api.get_task_instance_dependencies("etl", RUN, "a").dependencies
    by_index = api.get_task_instance_dependencies_by_map_index("etl", RUN, "b", -1).dependencies

    assert [it.name for it in waits] == ["upstream"]
    assert "It waits for a" in waits[0].reason
    assert by_index == waits
    assert runs == []


def test_a_chain_of_reasons_is_told_to_its_end(airflow_client: ApiClient, engine: Engine) -> None:
    seed.start_run(engine, seed.dag(A, B, replace(seed.task("c", "b"))))

    waits = TaskInstanceApi(airflow_client).get_task_instance_dependencies("etl", RUN, "c")

    first, second = waits.dependencies
    assert (first.name, first.reason) == ("upstream", "It waits for b (undecided).")
    assert (second.name, second.reason) == ("no_scheduler", "a: No scheduler is alive.")


@pytest.mark.usefixtures("run")
def test_what_is_not_there_is_not_found(airflow_client: ApiClient) -> None:
    defined, instances = TaskApi(airflow_client), TaskInstanceApi(airflow_client)
    asked: list[Callable[[], object]] = [
        lambda: defined.get_tasks("none"),
        lambda: defined.get_task("etl", "none"),
        lambda: instances.get_task_instances("none", "~"),
        lambda: instances.get_task_instances("etl", "none"),
        lambda: instances.get_task_instance("etl", RUN, "none"),
        lambda: instances.get_task_instance_tries("etl", RUN, "none"),
        lambda: instances.get_mapped_task_instances("etl", RUN, "none"),
        lambda: instances.get_task_instance_dependencies("etl", RUN, "none"),
        lambda: instances.get_task_instance_dependencies("etl", "none", "a"),
    ]

    assert [refused(ask).status for ask in asked] == [404] * len(asked)


@pytest.mark.usefixtures("run")
def test_an_account_of_a_bundle_sees_no_task_of_another(airflow: Airflow) -> None:
    client = airflow.client("vera", AccountRole.VIEWER, ("main",))
    defined, api = TaskApi(client), TaskInstanceApi(client)
    body = TaskInstancesBatchBody(dag_ids=["secret"])

    assert names(api.get_task_instances("~", "~").task_instances) == ["etl.a", "etl.b"]
    assert api.get_task_instances("~", RUN).total_entries == 2
    assert api.get_task_instances_batch("~", "~", body).total_entries == 0
    asked: list[Callable[[], object]] = [
        lambda: defined.get_tasks("secret"),
        lambda: defined.get_task("secret", "t"),
        lambda: api.get_task_instances("secret", "~"),
        lambda: api.get_task_instances("secret", RUN),
        lambda: api.get_task_instance("secret", RUN, "t"),
        lambda: api.get_mapped_task_instance("secret", RUN, "t", -1),
        lambda: api.get_mapped_task_instances("secret", RUN, "t"),
        lambda: api.get_task_instance_tries("secret", RUN, "t"),
        lambda: api.get_task_instance_try_details("secret", RUN, "t", 1),
        lambda: api.get_task_instance_dependencies("secret", RUN, "t"),
    ]
    errors = [refused(ask) for ask in asked]
    assert [error.status for error in errors] == [404] * len(asked)
    assert {str(error.body).count("DAG 'secret'") for error in errors} == {1}
    assert DagRunApi(client).get_dag_run("etl", RUN).dag_id == "etl"
