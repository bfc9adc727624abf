"""DAG runs through Airflow's client, as it is."""

import json
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.dag_run_api import DagRunApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.clear_task_instance_collection_response import (
    ClearTaskInstanceCollectionResponse,
)
from airflow_client.client.models.dag_run_clear_body import DAGRunClearBody
from airflow_client.client.models.dag_run_mutable_states import DagRunMutableStates
from airflow_client.client.models.dag_run_patch_body import DAGRunPatchBody
from airflow_client.client.models.dag_run_response import DAGRunResponse
from airflow_client.client.models.dag_run_state import DagRunState
from airflow_client.client.models.dag_runs_batch_body import DAGRunsBatchBody
from airflow_client.client.models.new_task_response import NewTaskResponse
from airflow_client.client.models.trigger_dag_run_post_body import TriggerDAGRunPostBody
from sqlalchemy import Engine, text
from tests.integration.api.conftest import Airflow

from headway.domain.accounts import AccountRole
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed

DAYS = 5
IDS = [f"scheduled__{seed.info(day).data_interval.start.isoformat()}" for day in range(DAYS)]
FAILED = DAGRunPatchBody(state=DagRunMutableStates.FAILED)


@pytest.fixture
def runs(engine: Engine) -> None:
    """Five runs of etl, which wait, and one of the DAG secret, which is in another bundle."""
    seed.create_runs(engine, seed.store(engine, seed.dag()), range(DAYS))
    seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="secret")), [0])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET bundle = 'other' WHERE dag_id = 'secret'"))


def journal(engine: Engine) -> list[tuple[str, str | None]]:
    """The actions on runs, with their reasons."""
    found = text("SELECT action, details ->> 'reason' FROM event ORDER BY id")
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(found) if row.action.startswith("run.")]


def ids(runs: list[DAGRunResponse]) -> list[str]:
    return [run.dag_run_id for run in runs]


def refused(ask: Callable[[], object]) -> ApiException:
    with pytest.raises(ApiException) as found:
        ask()
    return found.value


@pytest.mark.usefixtures("runs")
def test_runs_of_a_dag_and_of_all_dags_are_listed(airflow_client: ApiClient) -> None:
    api = DagRunApi(airflow_client)

    own, every = api.get_dag_runs("etl"), api.get_dag_runs("~")

    assert (ids(own.dag_runs), own.total_entries) == (IDS, DAYS)
    assert (len(every.dag_runs), every.total_entries) == (DAYS + 1, DAYS + 1)
    [version] = own.dag_runs[0].dag_versions
    assert (version.version_number, version.bundle_name) == (1, "main")
    assert own.dag_runs[0].logical_date == seed.START
    assert own.dag_runs[0].triggered_by == "timetable"


@pytest.mark.usefixtures("runs")
def test_runs_are_paged_forwards_and_back_by_cursor(airflow_client: ApiClient) -> None:
    api = DagRunApi(airflow_client)

    pages = [api.get_dag_runs("etl", cursor="", limit=2)]
    while pages[-1].next_cursor is not None:
        pages.append(api.get_dag_runs("etl", cursor=pages[-1].next_cursor, limit=2))

    assert [ids(page.dag_runs) for page in pages] == [IDS[:2], IDS[2:4], IDS[4:]]
    assert pages[0].previous_cursor is None
    assert [page.total_entries for page in pages] == [DAYS] * 3
    for before, after in pairwise(pages):
        back = api.get_dag_runs("etl", cursor=after.previous_cursor, limit=2)
        assert ids(back.dag_runs) == ids(before.dag_runs)
        again = api.get_dag_runs("etl", cursor=back.next_cursor, limit=2)
        assert ids(again.dag_runs) == ids(after.dag_runs)


@pytest.mark.usefixtures("runs")
def test_the_page_before_the_second_is_the_first_and_has_none_before(
    airflow_client: ApiClient,
) -> None:
    api = DagRunApi(airflow_client)
    order = ["-logical_date"]

    first = api.get_dag_runs("etl", cursor="", limit=2, order_by=order)
    second = api.get_dag_runs("etl", cursor=first.next_cursor, limit=2, order_by=order)
    back = api.get_dag_runs("etl", cursor=second.previous_cursor, limit=2, order_by=order)

    assert ids(back.dag_runs) == ids(first.dag_runs) == [IDS[4], IDS[3]]
    assert back.previous_cursor is None


@pytest.mark.usefixtures("runs")
def test_runs_are_paged_by_offset_and_ordered(airflow_client: ApiClient) -> None:
    api = DagRunApi(airflow_client)

    page = api.get_dag_runs("etl", limit=2, offset=1, order_by=["-run_after"])

    assert ids(page.dag_runs) == [IDS[3], IDS[2]]
    assert refused(lambda: api.get_dag_runs("etl", order_by=["conf"])).status == 422


@pytest.mark.usefixtures("runs")
def test_runs_are_filtered(airflow_client: ApiClient) -> None:
    api = DagRunApi(airflow_client)
    second, third = seed.START + seed.DAY, seed.START + 2 * seed.DAY

    assert ids(api.get_dag_runs("etl", logical_date_gte=third).dag_runs) == IDS[2:]
    assert ids(api.get_dag_runs("etl", logical_date_gt=third).dag_runs) == IDS[3:]
    assert ids(api.get_dag_runs("etl", logical_date_lte=second).dag_runs) == IDS[:2]
    assert ids(api.get_dag_runs("etl", logical_date_lt=second).dag_runs) == IDS[:1]
    assert ids(api.get_dag_runs("etl", run_id_pattern="2024-01-03").dag_runs) == [IDS[2]]
    assert api.get_dag_runs("etl", state=["failed"]).dag_runs == []
    assert api.get_dag_runs("etl", run_type=["manual"]).dag_runs == []
    assert api.get_dag_runs("~", dag_id_pattern="secre").total_entries == 1
    assert refused(lambda: api.get_dag_runs("etl", state=["broken"])).status == 422
    assert api.get_dag_runs("etl", duration_gte=1e9).dag_runs == []
    assert refused(lambda: api.get_dag_runs("etl", dag_version=[2**40])).status == 422
    assert ids(api.get_dag_runs("etl", dag_version=[1], limit=1).dag_runs) == IDS[:1]
    assert api.get_dag_runs("etl", dag_version=[2]).dag_runs == []


@pytest.mark.usefixtures("runs")
def test_runs_of_several_dags_are_listed_by_a_body(airflow_client: ApiClient) -> None:
    api = DagRunApi(airflow_client)
    both = DAGRunsBatchBody(dag_ids=["etl", "secret"], page_limit=2, page_offset=4)
    one = DAGRunsBatchBody(
        dag_ids=["secret"], states=[DagRunState.QUEUED], order_by="-logical_date"
    )

    assert api.get_list_dag_runs_batch("~", both).total_entries == DAYS + 1
    assert len(api.get_list_dag_runs_batch("~", both).dag_runs) == 2
    assert [run.dag_id for run in api.get_list_dag_runs_batch("~", one).dag_runs] == ["secret"]
    assert api.get_list_dag_runs_batch("~", DAGRunsBatchBody(dag_ids=[])).dag_runs == []
    assert refused(lambda: api.get_list_dag_runs_batch("etl", both)).status == 422


def test_a_run_is_triggered(airflow_client: ApiClient, engine: Engine) -> None:
    seed.store(engine, seed.dag())
    api = DagRunApi(airflow_client)
    body = TriggerDAGRunPostBody(dag_run_id="mine", conf={"a": [1]}, note="asked for")

    made = api.trigger_dag_run("etl", body)

    assert (made.dag_run_id, made.state, made.run_type) == ("mine", "queued", "manual")
    assert made.conf == {"a": [1]}
    assert api.get_dag_run("etl", "mine") == made
    assert journal(engine) == [("run.trigger", "asked for")]


def test_a_run_is_triggered_as_if_at_a_date_and_about_an_interval(
    airflow_client: ApiClient, engine: Engine
) -> None:
    seed.store(engine, seed.dag())
    end = seed.START + timedelta(hours=5)
    body = TriggerDAGRunPostBody(
        logical_date=end, data_interval_start=seed.START, data_interval_end=end
    )

    made = DagRunApi(airflow_client).trigger_dag_run("etl", body)

    assert (made.logical_date, made.run_after) == (end, end)
    assert (made.data_interval_start, made.data_interval_end) == (seed.START, end)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"dag_run_id": "mine"}, 409),
        ({"dag_run_id": "scheduled__x"}, 409),
        ({"dag_run_id": "a/b"}, 400),
        ({"partition_key": "p"}, 422),
        ({"data_interval_start": seed.START}, 422),
        ({"logical_date": seed.START, "run_after": seed.START + seed.DAY}, 422),
    ],
)
def test_a_run_that_cannot_be_is_refused(
    airflow_client: ApiClient, engine: Engine, body: dict[str, Any], status: int
) -> None:
    seed.store(engine, seed.dag())
    api = DagRunApi(airflow_client)
    api.trigger_dag_run("etl", TriggerDAGRunPostBody(dag_run_id="mine"))

    error = refused(lambda: api.trigger_dag_run("etl", TriggerDAGRunPostBody(**body)))

    assert error.status == status
    assert api.get_dag_runs("etl").total_entries == 1


@pytest.mark.usefixtures("runs")
def test_a_run_is_triggered_once_for_an_idempotency_key(airflow: Airflow, engine: Engine) -> None:
    client = airflow.api.client(airflow.api.token("ann"))
    headers = {"Idempotency-Key": "k1"}

    first = client.post("/api/v2/dags/etl/dagRuns", json={}, headers=headers)
    second = client.post("/api/v2/dags/etl/dagRuns", json={}, headers=headers)
    rehearsed = client.post("/api/v2/dags/etl/dagRuns?dry_run=true", json={})

    assert (first.status_code, second.status_code, rehearsed.status_code) == (200, 200, 200)
    assert first.json() == second.json()
    assert len(journal(engine)) == 1


def test_a_run_is_marked(airflow_client: ApiClient, engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    api = DagRunApi(airflow_client)
    body = DAGRunPatchBody(state=DagRunMutableStates.FAILED, note="broken input")

    marked = api.patch_dag_run("etl", IDS[0], body)

    assert (marked.state, marked.end_date is None) == ("failed", False)
    assert journal(engine) == [("run.mark", "broken input")]
    queued = DAGRunPatchBody(state=DagRunMutableStates.QUEUED)
    assert refused(lambda: api.patch_dag_run("etl", IDS[0], queued)).status == 422
    noted = DAGRunPatchBody(note="n")
    assert refused(lambda: api.patch_dag_run("etl", IDS[0], noted)).status == 422


def test_a_dry_run_of_a_clear_shows_and_changes_nothing(
    airflow_client: ApiClient, engine: Engine
) -> None:
    spec = seed.dag(seed.task("a"), seed.task("b", "a"))
    seed.scheduled(engine, spec)
    seed.finish(engine)
    api = DagRunApi(airflow_client)

    shown = api.clear_dag_run("etl", IDS[0], DAGRunClearBody()).actual_instance
    untouched = api.clear_dag_run("etl", IDS[0], DAGRunClearBody(only_failed=True)).actual_instance
    plain = api.clear_dag_run_without_preload_content("etl", IDS[0], DAGRunClearBody())

    assert isinstance(shown, ClearTaskInstanceCollectionResponse)
    assert isinstance(untouched, ClearTaskInstanceCollectionResponse)
    found = [each.actual_instance for each in shown.task_instances]
    assert [it.task_id for it in found if isinstance(it, NewTaskResponse)] == ["a", "b"]
    states = [each["state"] for each in json.loads(plain.read())["task_instances"]]
    assert states == ["success", "success"]
    assert untouched.task_instances == []
    assert seed.task_states(engine) == {"a": "success", "b": "success"}
    assert journal(engine) == []


def test_a_run_is_cleared(airflow_client: ApiClient, engine: Engine) -> None:
    seed.scheduled(engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    seed.finish(engine)
    body = DAGRunClearBody(dry_run=False, note="new input")

    cleared = DagRunApi(airflow_client).clear_dag_run("etl", IDS[0], body).actual_instance

    assert isinstance(cleared, DAGRunResponse)
    assert cleared.dag_run_id == IDS[0]
    assert seed.task_states(engine) == {"a": "none", "b": "none"}
    assert journal(engine) == [("run.clear", "new input")]


def test_a_run_is_deleted_unless_a_task_of_it_runs(
    airflow_client: ApiClient, engine: Engine
) -> None:
    [key] = seed.running(engine, seed.dag())
    api = DagRunApi(airflow_client)

    assert refused(lambda: api.delete_dag_run("etl", IDS[0])).status == 409
    seed.report(engine, [key])
    api.delete_dag_run("etl", IDS[0])

    assert refused(lambda: api.get_dag_run("etl", IDS[0])).status == 404
    assert journal(engine) == [("run.delete", None)]


def test_the_end_of_a_run_is_waited_for(airflow: Airflow, engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    api = DagRunApi(airflow.client())
    lines: list[dict[str, object]] = []
    answer = api.wait_dag_run_until_finished_without_preload_content("etl", IDS[0], 1)

    assert answer.headers["content-type"] == "application/x-ndjson"
    for line in answer:
        lines.append(json.loads(line))
        if len(lines) == 1:
            api.patch_dag_run("etl", IDS[0], FAILED)

    assert lines[0] == {"state": "queued"}
    assert lines[-1] == {"state": "failed"}


def test_the_last_line_tells_what_tasks_returned(airflow: Airflow, engine: Engine) -> None:
    [key] = seed.running(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(
            text("""
                INSERT INTO xcom (task_instance_id, attempt, key, value)
                VALUES (:task_instance_id, :attempt, 'return_value', '[1, "x"]')
            """),
            {"task_instance_id": key.task_instance_id, "attempt": key.attempt},
        )
    seed.report(engine, [key])
    api = DagRunApi(airflow.client())
    api.patch_dag_run("etl", IDS[0], FAILED)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'success', ended_at = now()"))

    answer = api.wait_dag_run_until_finished_without_preload_content(
        "etl", IDS[0], 1, result=["work", "other"]
    )

    assert json.loads(answer.read()) == {"state": "success", "results": {"work": [1, "x"]}}


@pytest.mark.usefixtures("runs")
def test_who_loses_the_right_to_look_is_told_nothing_more(airflow: Airflow, engine: Engine) -> None:
    api = DagRunApi(airflow.client("vera", AccountRole.VIEWER))
    answer = api.wait_dag_run_until_finished_without_preload_content("etl", IDS[0], 1)
    lines = []

    for line in answer:
        lines.append(line)
        if len(lines) > 1:
            break
        with engine.begin() as conn:
            conn.execute(text("UPDATE api_account SET bundles = '{other}'"))

    assert len(lines) == 1


@pytest.mark.usefixtures("runs")
def test_a_request_that_prefers_to_wait_is_answered_when_the_run_has_ended(
    airflow: Airflow,
) -> None:
    api, later = DagRunApi(airflow.client()), DagRunApi(airflow.client("later"))
    headers = {"Prefer": "wait=50"}
    marking = Thread(target=lambda: later.patch_dag_run("etl", IDS[0], FAILED))
    marking.start()

    answer = api.get_dag_run_with_http_info("etl", IDS[0], _headers=headers)
    marking.join()
    at_once = api.get_dag_run_with_http_info("etl", IDS[1], _headers={"Prefer": "wait=0"})

    assert answer.data.state == "failed"
    assert (answer.headers or {})["preference-applied"] == "wait=50"
    assert at_once.data.state == "queued"


@pytest.mark.usefixtures("runs")
def test_what_is_not_there_is_not_found(airflow_client: ApiClient) -> None:
    api = DagRunApi(airflow_client)
    asked: list[Callable[[], object]] = [
        lambda: api.get_dag_runs("none"),
        lambda: api.get_dag_run("none", IDS[0]),
        lambda: api.get_dag_run("etl", "none"),
        lambda: api.trigger_dag_run("none", TriggerDAGRunPostBody()),
        lambda: api.patch_dag_run("etl", "none", FAILED),
        lambda: api.delete_dag_run("etl", "none"),
        lambda: api.clear_dag_run("etl", "none", DAGRunClearBody()),
        lambda: api.wait_dag_run_until_finished("etl", "none", 1),
    ]

    assert [refused(ask).status for ask in asked] == [404] * len(asked)


@pytest.mark.usefixtures("runs")
def test_a_viewer_reads_and_changes_nothing(airflow: Airflow, engine: Engine) -> None:
    api = DagRunApi(airflow.client("vera", AccountRole.VIEWER))
    asked: list[Callable[[], object]] = [
        lambda: api.trigger_dag_run("etl", TriggerDAGRunPostBody()),
        lambda: api.patch_dag_run("etl", IDS[0], FAILED),
        lambda: api.delete_dag_run("etl", IDS[0]),
        lambda: api.clear_dag_run("etl", IDS[0], DAGRunClearBody()),
        lambda: api.clear_dag_run("etl", IDS[0], DAGRunClearBody(dry_run=False)),
    ]

    assert api.get_dag_runs("~").total_entries == DAYS + 1
    assert [refused(ask).status for ask in asked] == [403] * len(asked)
    assert journal(engine) == []
    operator = DagRunApi(airflow.client("olga", AccountRole.OPERATOR))
    assert refused(lambda: operator.delete_dag_run("etl", IDS[0])).status == 403


@pytest.mark.usefixtures("runs")
def test_an_account_of_a_bundle_sees_no_run_of_another(airflow: Airflow, engine: Engine) -> None:
    api = DagRunApi(airflow.client("olga", AccountRole.OPERATOR, ("main",)))
    batch = DAGRunsBatchBody(dag_ids=["secret"])

    assert api.get_dag_runs("~").total_entries == DAYS
    assert {run.dag_id for run in api.get_dag_runs("~").dag_runs} == {"etl"}
    assert api.get_list_dag_runs_batch("~", batch).total_entries == 0
    asked: list[Callable[[], object]] = [
        lambda: api.get_dag_runs("secret"),
        lambda: api.get_dag_run("secret", IDS[0]),
        lambda: api.trigger_dag_run("secret", TriggerDAGRunPostBody()),
        lambda: api.patch_dag_run("secret", IDS[0], FAILED),
        lambda: api.clear_dag_run("secret", IDS[0], DAGRunClearBody()),
        lambda: api.clear_dag_run("secret", IDS[0], DAGRunClearBody(dry_run=False)),
        lambda: api.wait_dag_run_until_finished("secret", IDS[0], 1),
        lambda: api.get_dag_runs("secrets"),
        lambda: api.get_dag_run("secrets", IDS[0]),
        lambda: api.trigger_dag_run("secrets", TriggerDAGRunPostBody()),
    ]
    errors = [refused(ask) for ask in asked]
    assert [error.status for error in errors] == [404] * len(asked)
    assert not any("hint" in str(error.body) for error in errors)
    assert all("There is no DAG 'secret" in str(error.body) for error in errors)
    assert journal(engine) == []


def test_a_null_character_is_refused(airflow: Airflow) -> None:
    client = airflow.api.client(airflow.api.token("ann"))

    assert client.get("/api/v2/dags/a%00b").status_code == 422
    assert client.get("/api/v2/dags/~/dagRuns?run_id_pattern=%00").status_code == 422
    assert client.get("/api/v2/dags/~/dagRuns?cursor=%ED%A0%80").status_code == 422


def test_what_failed_of_a_run_is_cleared_alone(airflow_client: ApiClient, engine: Engine) -> None:
    [first, second] = seed.running(engine, seed.wide(2))
    seed.report(engine, [first])
    seed.report(engine, [second], Outcome.FAILED, Next(TaskState.FAILED))
    body = DAGRunClearBody(dry_run=False, only_failed=True)

    DagRunApi(airflow_client).clear_dag_run("etl", IDS[0], body)

    assert seed.task_states(engine) == {"t0": "success", "t1": "none"}
