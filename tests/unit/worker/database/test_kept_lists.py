"""What a worker keeps of the lists that mapped tasks are expanded over."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest

from headway_worker.database import items
from headway_worker.database.items import KeptItems


@pytest.fixture
def reads() -> list[object]:
    """The keys that were read, in order."""
    return []


@pytest.fixture
def get(reads: list[object]) -> Callable[..., Sequence[object]]:
    kept = KeptItems()

    def get_list(key: object, length: int = 1) -> Sequence[object]:
        def read() -> list[object]:
            reads.append(key)
            return [key] * length

        return kept.get(key, read)

    return get_list


Get = Callable[..., Sequence[object]]


def test_a_list_is_read_once(get: Get, reads: list[object]) -> None:
    assert [list(get(key)) for key in "aba"] == [["a"], ["b"], ["a"]]
    assert reads == ["a", "b"]


def test_the_one_not_used_for_longest_is_forgotten(
    get: Get, reads: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MOST_LISTS", 2)
    for key in "abacabc":
        get(key)

    assert "".join(map(str, reads)) == "abcbc"


def test_many_items_are_as_much_as_many_lists(
    get: Get, reads: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MOST_ITEMS", 10)
    for key, length in (("a", 5), ("b", 5), ("a", 5), ("b", 5), ("c", 1), ("b", 5), ("a", 5)):
        assert len(get(key, length)) == length

    assert reads == ["a", "b", "c", "a"]


def test_a_list_that_is_too_long_alone_is_kept(
    get: Get, reads: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MOST_ITEMS", 10)
    for key, length in (("a", 1), ("b", 99), ("b", 99), ("a", 1)):
        get(key, length)

    assert reads == ["a", "b", "a"]


def test_what_cannot_be_read_is_tried_again(get: Get) -> None:
    kept = KeptItems()

    def fail() -> list[object]:
        raise ConnectionError("away")

    with pytest.raises(ConnectionError):
        kept.get("a", fail)
    assert kept.get("a", lambda: [1]) == [1]


def test_threads_that_ask_at_a_time_read_once() -> None:
    kept, reads = KeptItems(), list[object]()
    asking, reading = Barrier(2), Barrier(2)

    def read() -> list[object]:
        reads.append("a")
        with suppress(BrokenBarrierError):
            reading.wait(0.5)  # for another one to read as well, which it must not
        return ["a"]

    def ask() -> Sequence[object]:
        asking.wait(5)
        return kept.get("a", read)

    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(ask) for _ in range(2)]

    assert [list(each.result()) for each in found] == [["a"]] * 2
    assert reads == ["a"]
