"""`task_state_store` of the context."""

import asyncio
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from headway.domain.retention import DEFAULT_RETENTION
from headway.sdk import NEVER_EXPIRE
from headway.sdk.context.state_store import TaskStateStore
from headway.sdk.exceptions import StateStoreError
from headway.sdk.running.task_runtime import LocalRuntime
from headway.sdk.values.state_store import check_retention


@pytest.fixture
def runtime() -> LocalRuntime:
    return LocalRuntime("work")


@pytest.fixture
def store(runtime: LocalRuntime) -> TaskStateStore:
    return TaskStateStore(runtime)


@pytest.mark.parametrize("value", [False, 0, "", [], {"a": [1, None, {"b": 0.5}]}])
def test_a_value_comes_back(store: TaskStateStore, value: Any) -> None:
    store.set("k", value)

    assert store.get("k", "default") == value
    assert store.get("other") is None
    assert store.get("other", 7) == 7


def test_what_was_set_or_read_is_no_longer_what_is_kept(store: TaskStateStore) -> None:
    given: list[Any] = [1]
    store.set("k", given)
    given.append(2)
    store.get("k").append(3)

    assert store.get("k") == [1]


def test_keys_are_removed(store: TaskStateStore) -> None:
    for key in ("a", "b", "c"):
        store.set(key, 1)

    store.delete("a")
    store.delete("not there")
    assert [store.get(key) for key in ("a", "b", "c")] == [None, 1, 1]

    store.clear()
    assert [store.get(key) for key in ("a", "b", "c")] == [None] * 3


def test_instances_do_not_share_a_store() -> None:
    stores: dict[tuple[str, int], dict[str, Any]] = {}
    first, second = (
        TaskStateStore(LocalRuntime("work", map_index=index, stores=stores)) for index in (0, 1)
    )
    first.set("k", 1)

    assert second.get("k") is None
    second.clear()
    assert first.get("k") == 1


def test_coroutines_do_the_same(store: TaskStateStore) -> None:
    async def work() -> list[Any]:
        await store.aset("a", 1, retention=NEVER_EXPIRE)
        await store.aset("b", 2)
        found = [await store.aget("a"), await store.aget("c", default=5)]
        await store.adelete("a")
        found += [await store.aget("a"), await store.aget("b")]
        await store.aclear()
        return [*found, await store.aget("b")]

    assert asyncio.run(work()) == [1, 5, None, 2, None]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda it: it.set("k", None), "'k' in task_state_store is None.*call delete"),
        (lambda it: it.set("k", date(2024, 1, 5)), "of type date, which is not JSON.*isoformat"),
        (lambda it: it.set("k", {"a": {1: 2}}), r"has the key 1; JSON keys are strings"),
        (lambda it: it.set("k", float("nan")), "which JSON does not have"),
        (lambda it: it.set("k", "x" * 2**20), "has 1,048,578 bytes as JSON.*Store large data"),
        (lambda it: it.set("", 1), "must have 1 to 512 printable"),
        (lambda it: it.get("x" * 513), "it has 513 characters"),
        (lambda it: it.delete("a\0"), "printable"),
        (lambda it: it.get(5), "is of type int; use a string"),
        (lambda it: it.set("k", 1, retention=5), "pass a timedelta, NEVER_EXPIRE or None"),
        (
            lambda it: it.set("k", 1, retention=timedelta(0)),
            "above 0 and of at most 36,500",
        ),
        (lambda it: it.set("k", 1, retention=timedelta(36_501)), "or NEVER_EXPIRE"),
    ],
)
def test_what_it_refuses(
    store: TaskStateStore, call: Callable[[TaskStateStore], object], said: str
) -> None:
    with pytest.raises(StateStoreError, match=f"(?s){said}"):
        call(store)

    assert issubclass(StateStoreError, ValueError)
    assert store.get("k") is None


def test_how_long_a_value_is_kept() -> None:
    day = timedelta(days=1)

    assert [check_retention("k", given) for given in (None, day, NEVER_EXPIRE)] == [
        DEFAULT_RETENTION,
        day,
        None,
    ]
