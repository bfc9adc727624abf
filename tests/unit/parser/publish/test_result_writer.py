from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

import pytest

from headway.db.parsing.files import FileKey
from headway.testing.time.clock import FakeClock
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.jobs import Job, ParseReason
from headway_parser.publish import result_writer as module
from headway_parser.publish.publish import Published
from headway_parser.publish.result_writer import GATHERING, MOST_AT_ONCE, ParseResult, ResultWriter
from headway_parser.publish.stored_parse import StoredParse


class Store:
    """Notes what is stored, once it may; fails as often as it was told to."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.may = Event()
        self.may.set()
        self.failures = 0

    def files(self, parses: Sequence[StoredParse]) -> Mapping[FileKey, Published]:
        assert self.may.wait(10)
        if self.failures:
            self.failures -= 1
            raise ConnectionError
        self.batches.append([parse.file.path for parse in parses])
        return {parse.file: Published() for parse in parses}


def result(name: str, size: int = 1) -> ParseResult:
    job = Job(
        key=FileKey("dags", name),
        root=Path("/dags"),
        reason=ParseReason.NEW,
        seen="",
        hashes={name: ""},
    )
    return ParseResult(job, ParsedFile(contents={name: b"x" * size}), 0.1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def writer(store: Store, clock: FakeClock) -> ResultWriter:
    return ResultWriter(store.files, "release", clock)


def settle(writer: ResultWriter) -> list[str]:
    """Store all that waits; return what was stored."""
    stored: list[str] = []
    while writer.busy:
        stored += [one.job.key.path for one, _ in writer.collect(more=False)]
        writer.wait(10)
    return stored


def test_what_comes_while_others_are_stored_goes_together(
    writer: ResultWriter, store: Store
) -> None:
    store.may.clear()
    writer.add(result("a"))
    writer.collect(more=False)
    for name in "bc":
        writer.add(result(name))
        assert writer.collect(more=False) == []
    assert set(writer.jobs) == {FileKey("dags", name) for name in "abc"}
    store.may.set()

    assert settle(writer) == ["a", "b", "c"]
    assert store.batches == [["a"], ["b", "c"]]


def test_few_results_wait_for_more_but_not_for_long(
    writer: ResultWriter, store: Store, clock: FakeClock
) -> None:
    writer.add(result("a"))
    writer.collect(more=True)
    assert not writer._under_way
    clock.advance(GATHERING)
    writer.collect(more=True)
    assert writer._under_way


def test_a_batch_is_bounded_by_number_and_by_size(
    writer: ResultWriter, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    for name, size in {"a": 60, "b": 40, "c": 1, "d": 500, "e": 1}.items():
        writer.add(result(name, size))
    settle(writer)
    for number in range(MOST_AT_ONCE + 1):
        writer.add(result(f"{number}"))
    settle(writer)

    assert store.batches[:3] == [["a", "b"], ["c"], ["d"]]
    assert [len(batch) for batch in store.batches[-2:]] == [MOST_AT_ONCE, 1]


def test_what_could_not_be_stored_is_stored_the_next_time(
    writer: ResultWriter, store: Store
) -> None:
    store.failures = 1
    writer.add(result("a"))
    writer.collect(more=False)
    writer.wait(10)
    with pytest.raises(ConnectionError):
        writer.collect(more=False)

    assert settle(writer) == ["a"]
