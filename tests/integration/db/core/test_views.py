"""What commands show of a run is of that run alone."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.reads import views
from headway.testing.data import seed

RUN = f"scheduled__{seed.START.isoformat()}"


@pytest.mark.parametrize("view", [views.tasks, views.attempts])
def test_tasks_and_attempts_are_of_the_run_that_is_named(
    engine: Engine, view: Callable[[Connection, str, str], list[Any]]
) -> None:
    """Another DAG has a run of the same name, and the DAG another run."""
    seed.running(engine, seed.dag(seed.task("mine")))
    seed.running(engine, seed.dag(seed.task("mine")), day=1)
    seed.running(engine, seed.dag(seed.task("others"), dag_id="other"))

    with engine.begin() as conn:
        found = view(conn, "etl", RUN)

    assert [row["task_id"] for row in found] == ["mine"]


def test_the_state_of_a_task_is_that_of_the_run_that_is_named(engine: Engine) -> None:
    for day in (0, 1):
        seed.running(engine, seed.dag(seed.task("mine")), day=day)
    seed.queued(engine, seed.dag(seed.task("mine"), dag_id="other"))

    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET state = 'queued' WHERE state <> 'running'"))
        states = [views.task_state(conn, dag_id, RUN, "mine", -1) for dag_id in ("etl", "other")]
        absent = views.task_state(conn, "none", RUN, "mine", -1)

    assert (states, absent) == (["running", "queued"], None)
