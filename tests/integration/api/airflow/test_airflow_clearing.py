"""Tasks are cleared in several runs at a time through Airflow's client, as it is."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.task_instance_api import TaskInstanceApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.clear_task_instances_body import ClearTaskInstancesBody
from airflow_client.client.models.clear_task_instances_body_task_ids_inner import (
    ClearTaskInstancesBodyTaskIdsInner as Name,
)
from sqlalchemy import Engine, text
from tests.integration.api.conftest import Airflow

from headway.actions.runs import clear_between
from headway.domain.accounts import AccountRole
from headway.testing.data import seed
from headway.testing.data.forced import force

A_DAY = timedelta(days=1)


def run_id(day: int) -> str:
    return f"scheduled__{(seed.START + day * A_DAY).isoformat()}"


@pytest.fixture
def instances_api(airflow_client: ApiClient) -> TaskInstanceApi:
    return TaskInstanceApi(airflow_client)


@pytest.fixture
def days(engine: Engine) -> None:
    """Four runs, of days 0 to 3, whose tasks a and b have all failed; the last has a task c."""
    pair = (seed.task("a"), seed.task("b"))
    for day in range(3):
        force(engine, seed.start_run(engine, seed.dag(*pair), day), a="failed", b="failed")
    more = seed.dag(*pair, seed.task("c"))
    force(engine, seed.start_run(engine, more, 3), a="failed", b="failed", c="failed")
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'failed', ended_at = now()"))


def body(*tasks: str, **options: object) -> ClearTaskInstancesBody:
    named = [Name(task) for task in tasks] or None
    return ClearTaskInstancesBody(task_ids=named, dry_run=False, **options)  # type: ignore[arg-type]


def cleared(engine: Engine) -> list[tuple[int, str]]:
    """The day and the task of each instance that is cleared."""
    found = text("""
        SELECT run.interval_start AS day, task.task_id
          FROM task_instance AS task JOIN dag_run AS run ON run.id = task.dag_run_id
         WHERE task.state = 'none' ORDER BY 1, 2
    """)
    with engine.connect() as conn:
        return [((row.day - seed.START).days, row.task_id) for row in conn.execute(found)]


def refusal(ask: Callable[[], object]) -> tuple[int | None, str]:
    with pytest.raises(ApiException) as found:
        ask()
    status = found.value.status
    return None if status is None else int(status), str(found.value.body)


@pytest.mark.usefixtures("days")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"dag_run_id": run_id(1)}, [1]),
        ({"dag_run_id": run_id(1), "include_past": True}, [0, 1]),
        ({"dag_run_id": run_id(1), "include_future": True}, [1, 2, 3]),
        ({"dag_run_id": run_id(1), "include_past": True, "include_future": True}, [0, 1, 2, 3]),
        ({"start_date": seed.START + A_DAY, "end_date": seed.START + 2 * A_DAY}, [1, 2]),
        ({"start_date": seed.START + 2 * A_DAY}, [2, 3]),
        ({"end_date": seed.START}, [0]),
        ({"end_date": seed.START - A_DAY}, []),
    ],
)
def test_a_task_is_cleared_in_the_runs_of_a_range(
    instances_api: TaskInstanceApi, engine: Engine, options: dict[str, object], expected: list[int]
) -> None:
    page = instances_api.post_clear_task_instances("etl", body("a", **options))

    assert cleared(engine) == [(day, "a") for day in expected]
    assert [it.dag_run_id for it in page.task_instances] == [run_id(day) for day in expected]
    with engine.connect() as conn:
        written = conn.scalars(text("SELECT run_id FROM event WHERE action = 'task.clear'")).all()
    assert sorted(written) == [run_id(day) for day in expected]


@pytest.mark.usefixtures("days")
def test_a_run_is_left_alone_that_does_not_have_the_task(
    instances_api: TaskInstanceApi, engine: Engine
) -> None:
    everywhere = body("b", "c", dag_run_id=run_id(2), include_past=True, include_future=True)
    page = instances_api.post_clear_task_instances("etl", everywhere)

    assert cleared(engine) == [(0, "b"), (1, "b"), (2, "b"), (3, "b"), (3, "c")]
    assert page.total_entries == 5
    unknown = body("none", dag_run_id=run_id(2), include_past=True)
    assert refusal(lambda: instances_api.post_clear_task_instances("etl", unknown))[0] == 404


@pytest.mark.usefixtures("days")
def test_runs_of_another_version_have_the_newest_if_that_is_asked_for(
    instances_api: TaskInstanceApi, engine: Engine
) -> None:
    every = body("a", end_date=seed.START, run_on_latest_version=True)

    instances_api.post_clear_task_instances("etl", every)

    with engine.connect() as conn:
        versions = conn.scalars(text("SELECT version_id FROM dag_run ORDER BY id")).all()
    assert versions[0] == versions[3] != versions[1]


@pytest.mark.usefixtures("days")
def test_a_dry_run_clears_nothing_in_any_run(
    instances_api: TaskInstanceApi, engine: Engine
) -> None:
    rehearsed = ClearTaskInstancesBody(start_date=seed.START)

    page = instances_api.post_clear_task_instances("etl", rehearsed)

    assert page.total_entries == 9
    assert {it.state for it in page.task_instances} == {"failed"}
    assert cleared(engine) == []


def test_only_what_runs_is_cleared(instances_api: TaskInstanceApi, engine: Engine) -> None:
    pair = seed.dag(seed.task("a"), seed.task("b"))
    force(engine, seed.start_run(engine, pair), a="running", b="failed")
    wanted = body(dag_run_id=run_id(0), only_failed=False, only_running=True)

    page = instances_api.post_clear_task_instances("etl", wanted)

    assert [it.task_id for it in page.task_instances] == ["a"]
    assert seed.task_states(engine) == {"a": "restarting", "b": "failed"}


@pytest.mark.usefixtures("days")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "say which runs"),
        ({"dag_run_id": run_id(1), "start_date": seed.START}, "not both"),
        ({"start_date": seed.START + A_DAY, "end_date": seed.START}, "before start_date"),
        ({"dag_run_id": run_id(1), "only_failed": True, "only_running": True}, "not both"),
        ({"dag_run_id": run_id(1), "reset_dag_runs": False}, "leave out reset_dag_runs"),
    ],
)
def test_a_refusal_says_what_to_do(
    instances_api: TaskInstanceApi, engine: Engine, options: dict[str, object], why: str
) -> None:
    status, said = refusal(
        lambda: instances_api.post_clear_task_instances("etl", body("a", **options))
    )

    assert (status, why in said) == (422, True)
    assert cleared(engine) == []


@pytest.mark.usefixtures("days")
def test_as_many_as_are_cleared_at_a_time(
    instances_api: TaskInstanceApi, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = body("a", start_date=seed.START)

    with monkeypatch.context() as few:
        few.setattr(clear_between, "MOST_RUNS", 3)
        assert "3 runs" in refusal(lambda: instances_api.post_clear_task_instances("etl", every))[1]
    with monkeypatch.context() as few:
        few.setattr(clear_between, "MOST_INSTANCES", 3)
        assert (
            "3 task inst"
            in refusal(lambda: instances_api.post_clear_task_instances("etl", every))[1]
        )
    assert cleared(engine) == []


@pytest.mark.usefixtures("days")
@pytest.mark.parametrize(
    ("role", "bundles", "status"),
    [(AccountRole.VIEWER, None, 403), (AccountRole.OPERATOR, ("other",), 404)],
)
def test_who_may_not_change_a_dag_clears_none_of_its_runs(
    airflow: Airflow, engine: Engine, role: AccountRole, bundles: tuple[str, ...], status: int
) -> None:
    instances_api = TaskInstanceApi(airflow.client("olga", role, bundles))

    asked = body("a", start_date=seed.START)
    assert refusal(lambda: instances_api.post_clear_task_instances("etl", asked))[0] == status
    assert cleared(engine) == []


@pytest.mark.usefixtures("days")
def test_instances_of_mapped_tasks_are_cleared_where_they_are(
    instances_api: TaskInstanceApi, engine: Engine
) -> None:
    """A task that is not mapped has no instance 0: those runs are left alone."""
    named = [Name(["a", 0]), Name("b")]
    asked = ClearTaskInstancesBody(task_ids=named, dry_run=False, end_date=seed.START)

    instances_api.post_clear_task_instances("etl", asked)

    assert cleared(engine) == [(0, "b")]
