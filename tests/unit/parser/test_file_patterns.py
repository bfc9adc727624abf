"""Patterns of headway_files take a bounded time of the parser's own, and each has its turn."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.sdk.bundle.declared_files import MOST_PATTERNS
from headway.testing.time.clock import FakeClock
from headway_parser import file_patterns
from headway_parser.file_patterns import LATE, LONGEST, Patterns, names_of
from headway_parser.parse.answer import check_answer

NAMES = {f"{name}/*/" for name in "abcdef"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def looked_for(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have each pattern take more than a third of the time; return those looked for."""
    found: list[str] = []

    def slow(_root: Path, pattern: str, hurry: Callable[[], None]) -> list[str]:
        for _ in range(10):
            clock.advance(0.04 * LONGEST)
            hurry()
        found.append(pattern)
        return [pattern]

    monkeypatch.setattr(file_patterns, "matches", slow)
    return found


@pytest.mark.regression
def test_patterns_take_a_bounded_time_and_each_has_its_turn(
    clock: FakeClock, looked_for: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known, begun = Patterns(clock), clock.monotonic()
    known.look(tmp_path, NAMES)

    assert clock.monotonic() - begun < 1.1 * LONGEST
    assert looked_for == ["a/*", "b/*"]
    assert known.found(tmp_path, "f/*/") == LATE
    for _ in range(3):
        known.look(tmp_path, NAMES)
    assert set(looked_for) == {name.removesuffix("/") for name in NAMES}
    assert caplog.text.count("takes more than") == 1


def test_what_was_not_looked_for_again_is_as_it_was(
    clock: FakeClock, looked_for: list[str], tmp_path: Path
) -> None:
    known = Patterns(clock)
    for _ in range(4):
        known.look(tmp_path, NAMES)
    before = {name: known.found(tmp_path, name) for name in NAMES}
    assert LATE not in before.values()
    looked_for.clear()
    known.look(tmp_path, NAMES)

    assert len(looked_for) == 2
    assert {name: known.found(tmp_path, name) for name in NAMES} == before


def test_one_that_takes_all_the_time_holds_up_the_others_once(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def matches(_root: Path, pattern: str, hurry: Callable[[], None]) -> list[str]:
        clock.advance(2 * LONGEST if pattern == "a/*" else 0.0)
        hurry()
        return []

    monkeypatch.setattr(file_patterns, "matches", matches)
    known = Patterns(clock)
    for _ in range(2):
        known.look(tmp_path, NAMES)

    assert {name for name in NAMES if known.found(tmp_path, name) == LATE} == {"a/*/"}


def test_files_that_come_are_noticed(clock: FakeClock, tmp_path: Path) -> None:
    known = Patterns(clock)
    found = []
    for name in ("a", "b"):
        (tmp_path / name).touch()
        known.look(tmp_path, {"*/"})
        found.append(known.found(tmp_path, "*/"))

    assert found[0] != found[1]
    assert found[1] == names_of(tmp_path, "*/")


def test_patterns_that_no_file_has_any_more_are_forgotten(clock: FakeClock, tmp_path: Path) -> None:
    known = Patterns(clock)
    known.look(tmp_path, {"*/"})
    known.look(tmp_path, set())

    assert known.found(tmp_path, "*/") == LATE


def test_a_child_may_name_so_many_patterns() -> None:
    named = {f"{number}/*/": "0" * 64 for number in range(MOST_PATTERNS + 1)}
    answer = check_answer("d.py", {"dags": [], "files": {"d.py": b""}, "patterns": named})

    assert answer.error is not None
    assert f"{MOST_PATTERNS} is the limit" in answer.error
