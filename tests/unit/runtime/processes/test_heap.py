"""What a fork makes goes to pages of its own."""

import gc
import threading

import pytest

from headway.runtime.forker.server import import_all
from headway.runtime.processes import heap


def pool_of(block: object) -> int:
    return id(block) // heap._POOL


def test_what_is_made_afterwards_is_on_no_page_of_what_was_there() -> None:
    made = [bytes(100) for _ in range(5_000)]
    there = made[::2]
    del made

    heap.fill()
    new = [bytes(100) for _ in range(500)]

    pools = {pool_of(block) for block in there}
    assert len([block for block in new if pool_of(block) in pools]) < 5


def test_an_object_takes_as_many_bytes_as_its_place_has() -> None:
    sizes = {size: heap._block(size, 1).__sizeof__() for size in heap._SIZES}

    assert all(size - 16 < found <= size for size, found in sizes.items())


def test_a_fork_server_fills_its_heap_when_all_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: filled.append("frozen"))
    monkeypatch.setattr(heap, "fill", lambda: filled.append("filled"))
    monkeypatch.setattr(threading, "enumerate", lambda: [threading.main_thread()])

    import_all([])

    assert filled == ["filled", "frozen"]
