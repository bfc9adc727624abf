"""A window of a log has whole lines, each with the byte at which it begins."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.api.airflow.test_log_pieces import InMemory

from headway_api.airflow.results.log_pieces import StoredLog
from headway_api.pages.logs import log_window
from headway_api.pages.logs.log_window import LONGEST_SHOWN, LogSearch, ShownLine


def log_of(data: bytes, *, ended: bool = True) -> StoredLog:
    return StoredLog(InMemory(data), Path("log"), ended)


def texts(lines: Sequence[ShownLine]) -> list[str]:
    return [line.message.event for line in lines]


@given(st.integers(0, 400), st.integers(1, 9))
def test_windows_before_one_another_are_the_whole_log(count: int, most: int) -> None:
    lines = [f"line {number}" for number in range(count)]
    data = b"".join(f"{line}\n".encode() for line in lines)
    found: list[str] = []
    log, end = log_of(data), None
    while end != 0:
        window = log_window.before(log, end, most)
        for line in window.lines:
            assert data[line.at :].startswith(line.message.event.encode() + b"\n")
        found[:0] = texts(window.lines)
        end = window.start if window.lines else 0
    assert found == lines


def test_lines_after_a_byte_end_where_the_next_ones_begin() -> None:
    log = log_of(b"one\ntwo\nthree\n")
    first = log_window.after(log, 0, 2)
    assert (texts(first.lines), first.end) == (["one", "two"], 8)
    assert texts(list(log_window.after(log, first.end, 2).lines)) == ["three"]
    nothing = log_window.after(log, 14)
    assert (nothing.lines, nothing.end) == ([], 14)


def test_half_a_line_waits_until_it_is_whole() -> None:
    growing = log_of(b"one\ntw", ended=False)
    assert texts(list(log_window.after(growing, 0).lines)) == ["one"]
    assert log_window.after(growing, 4).lines == []
    assert texts(list(log_window.before(growing, None).lines)) == ["one"]


def test_a_search_finds_lines_whatever_their_case_and_goes_on_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_window, "PIECE", 40)
    data = b"".join(b"Needle %d\n" % n if n % 10 == 0 else b"hay %d\n" % n for n in range(200))
    found: list[str] = []
    log, end = log_of(data), None
    while end != 0:
        window = log_window.search(log, LogSearch("nEEDLE"), end, 3)
        assert len(window.lines) <= 3
        found[:0] = texts(window.lines)
        end = window.start
    assert found == [f"Needle {n}" for n in range(0, 200, 10)]


def test_a_search_ends_where_one_line_is_longer_than_what_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_window, "PIECE", 16)
    window = log_window.search(log_of(b"needle\n" + b"x" * 100 + b"\n"), LogSearch("needle"), None)
    assert texts(window.lines) == ["needle"]
    assert window.start == 0


def test_a_search_reads_so_much_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_window, "PIECE", 10)
    monkeypatch.setattr(log_window, "MOST_SEARCHED", 30)
    window = log_window.search(log_of(b"needle\n" + b"hay\n" * 100), LogSearch("needle"), None)
    assert window.lines == []
    assert 0 < window.start < window.end


def test_of_a_long_line_the_beginning_is_shown() -> None:
    (line,) = log_window.before(log_of(b"x" * (LONGEST_SHOWN + 5) + b"\n"), None).lines
    assert (len(line.text), line.more) == (LONGEST_SHOWN, 5)


def test_a_line_longer_than_a_window_is_shown_all_the_same() -> None:
    long = b"x" * 200_000
    (line,) = log_window.before(log_of(long + b"\n"), None).lines
    assert line.more == 200_000 - LONGEST_SHOWN
    (line,) = log_window.after(log_of(long + b"\n"), 0).lines
    assert line.at == 0
