import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Connection

from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway.serialization import codec
from headway.timetables import registry
from headway.timetables.base import Timetable
from headway.timetables.kinds.simple import NullTimetable
from headway_scheduler.replica.specs import Specs

NULL = TimetableSpec(name="null")


@dataclass
class Versions:
    """A connection to a database that holds versions, and counts what is fetched of it."""

    unreadable: frozenset[int] = frozenset()
    fetched: list[list[int]] = field(default_factory=list)

    def execute(self, _statement: object, parameters: Mapping[str, Any]) -> list[SimpleNamespace]:
        ids = sorted(parameters["ids"])
        self.fetched.append(ids)
        return [SimpleNamespace(id=number, serialized=self.bytes_of(number)) for number in ids]

    def bytes_of(self, number: int) -> bytes:
        return b"\xc1" if number in self.unreadable else codec.encode(dag(number))


def dag(number: int) -> DagSpec:
    return DagSpec(
        dag_id=f"d{number}",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=(),
    )


def get(specs: Specs, versions: Versions, *ids: int) -> dict[int, DagGraph]:
    return specs.get(cast(Connection, versions), ids)


def test_a_version_is_fetched_once_and_those_that_are_new_together() -> None:
    specs, versions = Specs(), Versions()

    assert get(specs, versions, 1, 2, 2) == {1: DagGraph(dag(1)), 2: DagGraph(dag(2))}
    found = get(specs, versions, 1, 2, 3, 4)
    assert found == {number: DagGraph(dag(number)) for number in (1, 2, 3, 4)}
    assert get(specs, versions, 4, 1) == {4: DagGraph(dag(4)), 1: DagGraph(dag(1))}

    assert versions.fetched == [[1, 2], [3, 4]]


def test_the_timetable_of_a_version_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[TimetableSpec] = []
    decode = registry.decode

    def counted(spec: TimetableSpec) -> Timetable:
        read.append(spec)
        return decode(spec)

    monkeypatch.setattr(registry, "decode", counted)
    specs, versions = Specs(), Versions()
    found = [get(specs, versions, 1)[1].timetable for _ in range(3)]

    assert found == [NullTimetable()] * 3
    assert read == [NULL]


def test_nothing_is_fetched_for_nothing() -> None:
    versions = Versions()

    assert get(Specs(), versions) == {}
    assert versions.fetched == []


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    specs, versions = Specs(capacity=2), Versions()
    get(specs, versions, 1)
    get(specs, versions, 2)
    get(specs, versions, 1)
    get(specs, versions, 3)
    versions.fetched.clear()

    get(specs, versions, 1)
    get(specs, versions, 3)
    assert versions.fetched == []

    get(specs, versions, 2)
    assert versions.fetched == [[2]]


def test_more_than_it_holds_may_be_asked_for_at_once() -> None:
    specs, versions = Specs(capacity=2), Versions()

    assert get(specs, versions, 1, 2, 3, 4).keys() == {1, 2, 3, 4}
    assert len(specs._known) == 2


def test_one_that_cannot_be_read_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    found = get(Specs(), Versions(unreadable=frozenset({2})), 1, 2, 3)

    assert found.keys() == {1, 3}
    assert caplog.messages == ["action=unreadable version=2"]


def test_one_that_cannot_be_read_is_not_fetched_again() -> None:
    specs, versions = Specs(), Versions(unreadable=frozenset({2}))

    get(specs, versions, 2)
    assert specs.unreadable == {2}
    assert get(specs, versions, 1, 2).keys() == {1}

    assert versions.fetched == [[2], [1]]


def test_a_timetable_whose_package_is_missing_here_is_left_to_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Exchanges(Versions):
        def bytes_of(self, number: int) -> bytes:
            trading = TimetableSpec(
                name="trading_days", arguments={"exchange": "XNYS", "timezone": "UTC"}
            )
            return codec.encode(replace(dag(number), timetable=trading if number == 2 else NULL))

    monkeypatch.setitem(sys.modules, "exchange_calendars", None)
    specs = Specs()

    assert get(specs, Exchanges(), 1, 2, 3).keys() == {1, 3}
    assert specs.unreadable == {2}
    assert "pip install 'headway[exchanges]'" in caplog.text
