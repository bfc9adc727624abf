"""Mapped groups, as two schedulers and a worker run them."""

from typing import Any

import pytest
from sqlalchemy import text

from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

INSTANCES = text("""
    SELECT task.task_id || CASE WHEN map_index < 0 THEN '' ELSE '[' || map_index || ']' END AS name,
           task.state, xcom.value
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      LEFT JOIN xcom ON (xcom.task_instance_id, xcom.attempt, xcom.key)
                        = (task.id, task.attempt, 'return_value')
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
""")


def found(stack: Stack, run: StackRun) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the states of the instances of a run, and what they left."""
    with stack.engine.connect() as conn:
        rows = conn.execute(INSTANCES, {"dag_id": run.dag_id, "run_id": run.run_id}).all()
    return {row.name: row.state for row in rows}, {
        row.name: row.value for row in rows if row.value is not None
    }


def by_index(name: str, *states: str) -> dict[str, str]:
    return {f"each.{name}[{index}]": state for index, state in enumerate(states)}


AFTER = {
    "numbers": "success",
    "factor": "success",
    "total": "success",
    **by_index("first", "success", "failed", "skipped", "success"),
    **by_index("second", "success", "upstream_failed", "skipped", "success"),
    **by_index("close", "success", "success", "success", "success"),
    **by_index("go_on", "success", "upstream_failed", "skipped", "success"),
    **by_index("tell.show", "skipped", "upstream_failed", "skipped", "success"),
}


def test_each_map_index_goes_its_own_way(stack: Stack) -> None:
    run = stack.run("mapped_groups")
    states, left = found(stack, run)

    assert states == AFTER
    assert left["total"] == ["1 x 10 = 10", "4 x 10 = 40"]
    assert left["each.tell.show[3]"] == "4: 40"


def test_one_map_index_is_cleared_and_runs_again(stack: Stack) -> None:
    run = stack.run("mapped_groups")
    before = found(stack, run)[0]
    with stack.engine.connect() as conn:
        attempts = text("""
            SELECT task_id, map_index, attempt FROM task_instance
             WHERE dag_run_id = (SELECT id FROM dag_run WHERE run_id = :run)
        """)
        counted = {
            (row.task_id, row.map_index): row.attempt
            for row in conn.execute(attempts, {"run": run.run_id})
        }

        told = stack.headway(
            *("tasks", "clear", run.dag_id, run.run_id, "each.second"),
            *("--map-index", "3", "--yes"),
        )
        assert told.returncode == 0, told.stderr
        run.wait()
        conn.rollback()
        again = {
            f"{row.task_id}[{row.map_index}]"
            for row in conn.execute(attempts, {"run": run.run_id})
            if row.attempt > counted[row.task_id, row.map_index]
        }

    assert again == {"each.second[3]", "each.close[3]", "total[-1]"}
    assert found(stack, run)[0] == before


def test_many_instances_come_to_their_end(stack: Stack) -> None:
    run = stack.run("many_in_a_group")
    states, left = found(stack, run)

    assert (len(states), set(states.values())) == (82, {"success"})
    assert left["add"] == sum(range(40))
