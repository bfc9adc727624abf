"""A worker's instances of a mapped task get one item each, and the list is read once."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.engine import reader
from headway.db.execution import xcoms
from headway.db.execution.attempts import Claimed
from headway.db.scheduling import tasks
from headway.domain.arguments import JsonValue
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import MapInput
from headway.domain.errors import ConflictError
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway_worker.database.items import MappedItems

AT_ONCE = Next(TaskState.UP_FOR_RETRY, timedelta(0))
KEY = "return_value"
PLAN = seed.task("plan")
MANY = replace(seed.task("many"), mapped_over=(MapInput(argument="x", length=3),))
OVER_PLAN = replace(
    seed.task("work", "plan"), mapped_over=(MapInput(argument="x", task_id="plan"),)
)
OVER_MANY = replace(
    seed.task("work", "many"), mapped_over=(MapInput(argument="x", task_id="many"),)
)


@pytest.fixture
def read(engine: Engine) -> Iterator[list[str]]:
    """Which statements have read values, or looked for who has left some."""
    names = {xcoms.PULL_FROM.text: "list", xcoms.PUSHED.text: "instances", xcoms.PULL.text: "item"}
    statements = {" ".join(sql.split())[:40]: name for sql, name in names.items()}
    found: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        name = statements.get(" ".join(statement.split())[:40])
        if name is not None:
            found.append(name)

    event.listen(reader(engine), "before_cursor_execute", note)
    yield found
    event.remove(reader(engine), "before_cursor_execute", note)


def instances(engine: Engine, task_id: str) -> list[int]:
    found = text("SELECT id FROM task_instance WHERE task_id = :task ORDER BY map_index")
    with engine.connect() as conn:
        return list(conn.scalars(found, {"task": task_id}))


def expand(engine: Engine, task_id: str, count: int) -> None:
    with engine.begin() as conn:
        tasks.expand(conn, dict.fromkeys(instances(engine, task_id), count), seed.START, 0.0)


def claim(engine: Engine) -> list[Claimed]:
    """Claim whatever is scheduled, by map_index."""
    with engine.begin() as conn:
        ready = text("SELECT id FROM task_instance WHERE state = 'scheduled'")
        tasks.queue(conn, list(conn.scalars(ready)), seed.START, seed.SCHEDULER)
    claimed = seed.claim(engine, seed.register(engine, "worker"))
    return sorted(claimed, key=lambda each: each.map_index)


def leave(engine: Engine, key: AttemptKey, value: JsonValue) -> None:
    with engine.begin() as conn:
        assert xcoms.push(conn, key, KEY, value)


def again(
    engine: Engine, keys: Sequence[AttemptKey], outcome: Outcome = Outcome.FAILED, days: int = 1000
) -> list[Claimed]:
    """Fail the attempts; return the next ones, claimed."""
    seed.report(engine, keys, outcome, AT_ONCE)
    with engine.begin() as conn:
        tasks.schedule_retries(conn, seed.START + days * 100 * seed.DAY, 100, 0.0)
    return claim(engine)


def over_plan(engine: Engine, value: JsonValue, count: int) -> tuple[Claimed, list[Claimed]]:
    """Let `plan` leave a value; return its attempt, and those of the task expanded over it."""
    seed.start_run(engine, seed.dag(PLAN, OVER_PLAN))
    [plan] = claim(engine)
    leave(engine, plan.key, value)
    expand(engine, "work", count)
    return plan, claim(engine)


def over_many(engine: Engine, count: int) -> tuple[list[Claimed], list[Claimed]]:
    """Let two of three instances of `many` leave something; return who may read them."""
    seed.start_run(engine, seed.dag(MANY, OVER_MANY))
    expand(engine, "many", 3)
    many = claim(engine)
    for each in (many[2], many[0]):
        leave(engine, each.key, [each.map_index])
    seed.report(engine, [each.key for each in many])
    expand(engine, "work", count)
    return many, claim(engine)


def test_the_list_of_a_task_is_read_once_for_all_instances(engine: Engine, read: list[str]) -> None:
    _, work = over_plan(engine, ["a", {"b": 1}, [2]], 3)
    items = MappedItems(engine)

    found = [items.item(each, "plan", KEY, each.map_index) for each in work]
    lengths = [items.length(each, "plan", KEY) for each in work]

    assert found == ["a", {"b": 1}, [2]]
    assert (lengths, read) == ([3] * 3, ["list"])


def test_an_entry_of_a_dictionary_is_a_pair(engine: Engine) -> None:
    _, work = over_plan(engine, {"b": 1, "a": [2]}, 2)
    items = MappedItems(engine)

    assert [items.item(each, "plan", KEY, each.map_index) for each in work] == [
        ("b", 1),
        ("a", [2]),
    ]


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ({"__headway__": "tuple", "items": ["a", [1]]}, ["a", [1]]),
        ({"__headway__": "dict", "items": [[1, "a"], [2, "b"]]}, [(1, "a"), (2, "b")]),
        ({"__headway__": "namedtuple", "class": "antigravity:P", "fields": {"x": 1}}, [1]),
    ],
)
def test_what_is_no_plain_json_has_items_too(
    engine: Engine, value: JsonValue, items: list[Any]
) -> None:
    """No class that it names is imported."""
    plan, work = over_plan(engine, value, len(items))
    found = MappedItems(engine)

    assert [found.item(each, "plan", KEY, each.map_index) for each in work] == items
    with engine.connect() as conn:
        length = text("SELECT length FROM xcom WHERE task_instance_id = :id")
        assert conn.scalar(length, {"id": plan.key.task_instance_id}) == len(items)
    assert "antigravity" not in sys.modules


def test_a_list_that_was_made_anew_is_read_anew(engine: Engine, read: list[str]) -> None:
    plan, work = over_plan(engine, ["old"], 1)
    items = MappedItems(engine)

    assert items.item(work[0], "plan", KEY, 0) == "old"
    [second] = again(engine, [plan.key])
    leave(engine, second.key, ["new"])
    assert items.item(work[0], "plan", KEY, 0) == "new"
    assert read == ["list", "list"]


def test_an_item_that_is_no_more_says_what_to_do(engine: Engine) -> None:
    plan, work = over_plan(engine, ["only"], 2)
    items = MappedItems(engine)

    for index in (1, -1):
        with pytest.raises(ConflictError, match=r"'plan' has left 1 under .* Clear the mapped"):
            items.item(work[1], "plan", KEY, index)
    with pytest.raises(ConflictError, match="has left no list or dictionary under 'other'"):
        items.item(work[0], "plan", "other", 0)
    again(engine, [plan.key])
    with pytest.raises(ConflictError, match="has left no list or dictionary under 'return_value'"):
        items.length(work[0], "plan", KEY)


def test_a_value_that_has_no_items_says_so(engine: Engine) -> None:
    _, work = over_plan(engine, "text", 1)

    with pytest.raises(ConflictError, match="has left no list or dictionary"):
        MappedItems(engine).item(work[0], "plan", KEY, 0)


def test_the_instances_of_a_mapped_task_are_found_once_and_read_one_by_one(
    engine: Engine, read: list[str]
) -> None:
    _, work = over_many(engine, 2)
    items = MappedItems(engine)

    found = [items.item(each, "many", KEY, each.map_index) for each in work]

    assert found == [[0], [2]]
    assert [items.length(each, "many", KEY) for each in work] == [2, 2]
    assert read == ["instances", "item", "item"]


def test_instances_are_looked_for_anew_when_a_later_reader_asks(
    engine: Engine, read: list[str]
) -> None:
    """Whoever is scheduled later may see a result that was not there before."""
    many, work = over_many(engine, 2)
    items = MappedItems(engine)
    assert items.item(work[1], "many", KEY, 1) == [2]

    with engine.begin() as conn:  # as a user has it run again, this time with a result
        conn.execute(
            text(
                "INSERT INTO xcom (task_instance_id, attempt, key, value) VALUES (:id, 1, :k, '1')"
            ),
            {"id": many[1].key.task_instance_id, "k": KEY},
        )
    assert items.item(work[1], "many", KEY, 1) == [2]
    [later] = again(engine, [work[1].key])
    assert items.item(later, "many", KEY, 1) == 1
    assert read == ["instances", "item", "item", "instances", "item"]


def test_an_instance_that_has_left_nothing_any_more_says_so(engine: Engine) -> None:
    many, work = over_many(engine, 2)
    items = MappedItems(engine)
    assert items.length(work[0], "many", KEY) == 2

    with engine.begin() as conn:
        gone = text("DELETE FROM xcom WHERE task_instance_id = :id")
        conn.execute(gone, {"id": many[2].key.task_instance_id})

    with pytest.raises(ConflictError, match="Instance 2 of task 'many' has left nothing under"):
        items.item(work[1], "many", KEY, 1)
