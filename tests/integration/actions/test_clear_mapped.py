"""Clearing mapped tasks: instances run again, or are made anew when their input may change."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author, RunChange
from headway.actions.runs.clear import clear_tasks
from headway.decide.changes.clear import Selection
from headway.domain.dag.spec import MapInput
from headway.domain.errors import NotFoundError, StillActiveError
from headway.domain.hints import Action, act
from headway.domain.states import TaskState
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.data.refusals import refused

RUN = f"scheduled__{seed.START.isoformat()}"
NONE = TaskState.NONE
MAPPED = seed.dag(
    seed.task("list"),
    replace(seed.task("work", "list"), mapped_over=(MapInput(argument="item", task_id="list"),)),
    seed.task("sum", "work"),
)


def clear(engine: Engine, *tasks: str, **options: Any) -> RunChange:
    with engine.begin() as conn:
        return clear_tasks(conn, "etl", RUN, Selection(tasks, **options), Author("user:ann"))


def rows(engine: Engine, statement: str) -> list[Any]:
    with engine.connect() as conn:
        return list(conn.execute(text(statement)))


def test_a_mapped_task_is_expanded_anew_when_its_input_runs_again(engine: Engine) -> None:
    run = seed.start_run(engine, MAPPED)
    force(engine, run, list="success", work="success success failed", sum="failed")
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET attempt = 4 WHERE map_index = 2"))
        conn.execute(
            text(
                "INSERT INTO xcom (task_instance_id, attempt, key, value) "
                "SELECT id, attempt, 'return_value', '1' FROM task_instance"
            )
        )

    change = clear(engine, "list")

    assert (change.moved, change.remade) == ({NONE: 3}, 1)
    left = "SELECT task_id, map_index, state, attempt FROM task_instance ORDER BY id"
    assert rows(engine, left) == [
        ("list", -1, "none", 1),
        ("work", -1, "none", 4),
        ("sum", -1, "none", 1),
    ]
    kept = "SELECT count(*) FROM xcom"
    assert rows(engine, kept) == [(3,)]


def test_what_instances_keep_stays_when_the_task_is_expanded_anew(engine: Engine) -> None:
    run = seed.start_run(engine, MAPPED)
    force(engine, run, list="success", work="success success failed", sum="failed")
    with engine.begin() as conn:
        conn.execute(
            text(
                "INSERT INTO task_state_store (dag_run_id, task_id, map_index, key, value) "
                "SELECT dag_run_id, task_id, map_index, 'k', to_json(map_index) FROM task_instance"
            )
        )

    clear(engine, "list")

    kept = "SELECT map_index, value FROM task_state_store WHERE task_id = 'work' ORDER BY 1"
    assert rows(engine, kept) == [(0, 0), (1, 1), (2, 2)]


def test_mapped_instances_stay_when_their_input_does(engine: Engine) -> None:
    run = seed.start_run(engine, MAPPED)
    force(engine, run, list="success", work="success failed", sum="upstream_failed")

    clear(engine, "work", only_failed=True)

    states = "SELECT task_id, map_index, state FROM task_instance ORDER BY id"
    assert rows(engine, states) == [
        ("list", -1, "success"),
        ("work", 0, "success"),
        ("sum", -1, "none"),
        ("work", 1, "none"),
    ]


def test_one_instance_of_a_mapped_task_runs_again(engine: Engine) -> None:
    run = seed.start_run(engine, MAPPED)
    force(engine, run, list="success", work="failed failed", sum="upstream_failed")

    clear(engine, "work", map_index=1, downstream=False)

    states = "SELECT map_index, state FROM task_instance WHERE task_id = 'work' ORDER BY 1"
    assert rows(engine, states) == [(0, "failed"), (1, "none")]


def test_a_mapped_task_is_not_expanded_anew_while_an_instance_runs(engine: Engine) -> None:
    run = seed.start_run(engine, MAPPED)
    force(engine, run, list="success", work="success running")

    with refused(StillActiveError, r"work\[1\] is running", act(Action.CANCEL_TASKS)):
        clear(engine, "list")

    assert rows(engine, "SELECT FROM event") == []


def test_an_instance_that_is_not_there_is_told_with_those_that_are(engine: Engine) -> None:
    run = seed.start_run(engine, MAPPED)
    force(engine, run, list="success", work="failed failed")

    with pytest.raises(NotFoundError, match="'work' has no instance 7 in that run; it has 0 to 1"):
        clear(engine, "work", map_index=7)
    with pytest.raises(NotFoundError, match="'list' has no instance 0 in that run; it has one"):
        clear(engine, "list", map_index=0)
