"""What commands show of a run is of that run alone."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from headway.db import views
from headway.testing import seed

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
