"""Task instances are marked and cleared through Airflow's client, as it is."""

from collections.abc import Callable

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.task_instance_api import TaskInstanceApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.clear_task_instances_body import ClearTaskInstancesBody
from airflow_client.client.models.clear_task_instances_body_task_ids_inner import (
    ClearTaskInstancesBodyTaskIdsInner as Name,
)
from airflow_client.client.models.patch_task_instance_body import PatchTaskInstanceBody
from airflow_client.client.models.task_instance_collection_response import (
    TaskInstanceCollectionResponse,
)
from airflow_client.client.models.task_instance_state import TaskInstanceState
from sqlalchemy import Engine, text
from tests.integration.api.conftest import Airflow

from headway.domain.accounts import AccountRole
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.data.forced import force

RUN = f"scheduled__{seed.START.isoformat()}"
SUCCESS = PatchTaskInstanceBody(new_state=TaskInstanceState.SUCCESS)
ALL = ClearTaskInstancesBody(dag_run_id=RUN, dry_run=False, only_failed=False)
REHEARSED = ClearTaskInstancesBody(dag_run_id=RUN, only_failed=False)


@pytest.fixture
def ended(engine: Engine) -> None:
    """A run of a chain of three tasks that have all ended: a and b as success, c as failed."""
    chain = (seed.task("a"), seed.task("b", "a"), seed.task("c", "b"))
    force(engine, seed.start_run(engine, seed.dag(*chain)), a="success", b="success", c="failed")
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'failed', ended_at = now()"))


def refused(ask: Callable[[], object]) -> ApiException:
    with pytest.raises(ApiException) as found:
        ask()
    return found.value


def journal(engine: Engine) -> list[tuple[str, str | None]]:
    """The actions on tasks and runs, with their reasons."""
    found = text("SELECT action, details ->> 'reason' FROM event ORDER BY id")
    with engine.connect() as conn:
        return [
            tuple(row) for row in conn.execute(found) if row.action.startswith(("task.", "run."))
        ]


def clearing(*tasks: str | list[object], **options: object) -> ClearTaskInstancesBody:
    """A body that clears these tasks, whatever their state."""
    named = [Name(task) for task in tasks]
    wanted = {"dag_run_id": RUN, "dry_run": False, "only_failed": False, **options}
    return ClearTaskInstancesBody(task_ids=named, **wanted)  # type: ignore[arg-type]


def shown(page: TaskInstanceCollectionResponse) -> dict[str, str | None]:
    return {it.task_id: it.state for it in page.task_instances}


@pytest.mark.usefixtures("ended")
def test_a_task_instance_is_marked(airflow_client: ApiClient, engine: Engine) -> None:
    body = PatchTaskInstanceBody(new_state=TaskInstanceState.SUCCESS, note="mended by hand")

    marked = TaskInstanceApi(airflow_client).patch_task_instance("etl", RUN, "c", body)

    assert shown(marked) == {"c": "success"}
    assert seed.task_states(engine) == {"a": "success", "b": "success", "c": "success"}
    assert journal(engine) == [("task.mark", "mended by hand")]


@pytest.mark.usefixtures("ended")
def test_a_dry_run_of_a_mark_shows_and_changes_nothing(
    airflow_client: ApiClient, engine: Engine
) -> None:
    api = TaskInstanceApi(airflow_client)

    one = api.patch_task_instance_dry_run("etl", RUN, "c", SUCCESS)
    indexed = api.patch_task_instance_dry_run_by_map_index("etl", RUN, "c", -1, SUCCESS)

    assert shown(one) == shown(indexed) == {"c": "failed"}
    assert seed.task_states(engine)["c"] == "failed"
    assert journal(engine) == []


@pytest.mark.usefixtures("ended")
def test_tasks_above_and_below_are_marked_too(airflow_client: ApiClient, engine: Engine) -> None:
    api = TaskInstanceApi(airflow_client)
    failed = TaskInstanceState.FAILED
    above = PatchTaskInstanceBody(new_state=failed, include_upstream=True)
    below = PatchTaskInstanceBody(new_state=TaskInstanceState.SUCCESS, include_downstream=True)

    up = api.patch_task_instance("etl", RUN, "b", above)
    assert shown(up) == {"a": "failed", "b": "failed"}
    down = api.patch_task_instance("etl", RUN, "b", below)
    assert shown(down) == {"b": "success", "c": "success"}
    assert seed.task_states(engine) == {"a": "failed", "b": "success", "c": "success"}


@pytest.mark.usefixtures("ended")
def test_what_cannot_be_marked_is_refused(airflow_client: ApiClient, engine: Engine) -> None:
    api = TaskInstanceApi(airflow_client)

    def status(task_id: str, **body: object) -> int | None:
        patch = PatchTaskInstanceBody(**body)  # type: ignore[arg-type]
        error = refused(lambda: api.patch_task_instance("etl", RUN, task_id, patch))
        return None if error.status is None else int(error.status)

    assert status("a", new_state=TaskInstanceState.SUCCESS) == 409
    assert status("a", new_state=TaskInstanceState.SKIPPED) == 409
    assert status("a", new_state=TaskInstanceState.RUNNING) == 422
    assert status("a", note="a note alone") == 422
    assert status("c", new_state=TaskInstanceState.SUCCESS, include_future=True) == 422
    assert status("none", new_state=TaskInstanceState.SUCCESS) == 404
    assert journal(engine) == []


def test_one_instance_of_a_mapped_task_is_marked(airflow_client: ApiClient, engine: Engine) -> None:
    claimed = seed.run_mapped(engine, seed.register(engine, "worker"), 3)
    keys = [each.key for each in claimed]
    seed.report(engine, keys, Outcome.FAILED, Next(TaskState.FAILED))
    api = TaskInstanceApi(airflow_client)

    api.patch_task_instance_by_map_index("etl", RUN, "m", 1, SUCCESS)
    listed = api.get_mapped_task_instances("etl", RUN, "m").task_instances
    assert [it.state for it in listed] == ["failed", "success", "failed"]

    api.patch_task_instance("etl", RUN, "m", SUCCESS, map_index=0)
    rest = api.patch_task_instance("etl", RUN, "m", SUCCESS)
    assert [it.map_index for it in rest.task_instances] == [2]


@pytest.mark.usefixtures("ended")
def test_a_clear_is_a_dry_run_unless_it_says_otherwise(
    airflow_client: ApiClient, engine: Engine
) -> None:
    api = TaskInstanceApi(airflow_client)

    every = api.post_clear_task_instances("etl", REHEARSED)
    failed = api.post_clear_task_instances("etl", ClearTaskInstancesBody(dag_run_id=RUN))

    assert shown(every) == {"a": "success", "b": "success", "c": "failed"}
    assert (shown(failed), failed.total_entries) == ({"c": "failed"}, 1)
    assert seed.task_states(engine) == {"a": "success", "b": "success", "c": "failed"}
    assert journal(engine) == []


@pytest.mark.usefixtures("ended")
def test_all_tasks_of_a_run_are_cleared(airflow_client: ApiClient, engine: Engine) -> None:
    cleared = TaskInstanceApi(airflow_client).post_clear_task_instances("etl", ALL)

    assert shown(cleared) == {"a": None, "b": None, "c": None}
    assert seed.run_states(engine) == {"queued": 1}
    assert journal(engine) == [("run.clear", None)]


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize(
    ("options", "cleared"),
    [
        ({}, {"b"}),
        ({"include_downstream": True}, {"b", "c"}),
        ({"include_upstream": True}, {"a", "b"}),
        ({"include_downstream": True, "only_failed": True}, {"c"}),
    ],
)
def test_named_tasks_are_cleared_with_those_around_them(
    airflow_client: ApiClient, engine: Engine, options: dict[str, object], cleared: set[str]
) -> None:
    body = clearing("b", note="again", **options)

    page = TaskInstanceApi(airflow_client).post_clear_task_instances("etl", body)

    assert {it.task_id for it in page.task_instances} == cleared
    states = seed.task_states(engine)
    assert {task_id for task_id, state in states.items() if state == "none"} == cleared
    assert journal(engine) == [("task.clear", "again")]


def test_instances_of_a_mapped_task_are_cleared_by_their_index(
    airflow_client: ApiClient, engine: Engine
) -> None:
    claimed = seed.run_mapped(engine, seed.register(engine, "worker"), 3)
    seed.report(engine, [each.key for each in claimed])
    body = clearing(["m", 0], ["m", 2])

    page = TaskInstanceApi(airflow_client).post_clear_task_instances("etl", body)

    assert [it.map_index for it in page.task_instances] == [0, 2]


def test_a_running_task_is_told_to_stop_unless_that_is_prevented(
    airflow_client: ApiClient, engine: Engine
) -> None:
    seed.running(engine, seed.dag())
    api = TaskInstanceApi(airflow_client)
    prevented = clearing("work", prevent_running_task=True)

    assert refused(lambda: api.post_clear_task_instances("etl", prevented)).status == 409
    assert journal(engine) == []
    assert shown(api.post_clear_task_instances("etl", clearing("work"))) == {"work": "restarting"}


@pytest.mark.usefixtures("ended")
def test_what_cannot_be_cleared_is_refused(airflow_client: ApiClient, engine: Engine) -> None:
    api = TaskInstanceApi(airflow_client)
    wanted: list[tuple[int, ClearTaskInstancesBody]] = [
        (404, clearing("none")),
        (404, clearing("b", dag_run_id="none")),
        (422, ClearTaskInstancesBody(dry_run=False)),
        (422, clearing("b", only_running=True, only_failed=True)),
        (422, clearing("b", reset_dag_runs=False)),
        (422, clearing("b", start_date=seed.START)),
        (422, clearing(["b", -1])),
        (422, clearing()),
    ]

    for status, body in wanted:
        error = refused(lambda body=body: api.post_clear_task_instances("etl", body))  # type: ignore[misc]
        assert error.status == status
    assert journal(engine) == []


@pytest.mark.usefixtures("ended")
def test_a_clear_is_carried_out_once_for_an_idempotency_key(
    airflow: Airflow, engine: Engine
) -> None:
    client = airflow.api.client(airflow.api.token("ann"))
    body = {"dag_run_id": RUN, "dry_run": False}

    answers = [
        client.post(
            "/api/v2/dags/etl/clearTaskInstances", json=body, headers={"Idempotency-Key": "k"}
        ).json()
        for _ in range(2)
    ]

    assert answers[0] == answers[1]
    assert answers[0]["total_entries"] == 1
    assert len(journal(engine)) == 1


@pytest.mark.usefixtures("ended")
@pytest.mark.parametrize(
    ("role", "bundles", "status"),
    [
        (AccountRole.VIEWER, None, 403),
        (AccountRole.OPERATOR, ("other",), 404),
    ],
)
def test_who_may_not_change_a_dag_changes_no_task_of_it(
    airflow: Airflow, engine: Engine, role: AccountRole, bundles: tuple[str, ...], status: int
) -> None:
    api = TaskInstanceApi(airflow.client("olga", role, bundles))
    asked: list[Callable[[], object]] = [
        lambda: api.patch_task_instance("etl", RUN, "c", SUCCESS),
        lambda: api.patch_task_instance_by_map_index("etl", RUN, "c", -1, SUCCESS),
        lambda: api.patch_task_instance_dry_run("etl", RUN, "c", SUCCESS),
        lambda: api.patch_task_instance_dry_run_by_map_index("etl", RUN, "c", -1, SUCCESS),
        lambda: api.post_clear_task_instances("etl", ALL),
        lambda: api.post_clear_task_instances("etl", REHEARSED),
    ]

    assert [refused(ask).status for ask in asked] == [status] * len(asked)
    assert seed.task_states(engine) == {"a": "success", "b": "success", "c": "failed"}
    assert journal(engine) == []
