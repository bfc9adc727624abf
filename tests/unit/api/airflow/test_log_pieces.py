"""A log piece by piece is the whole log, whatever the pieces are."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_api.airflow.results import log_pieces
from headway_api.airflow.results.log_pieces import StoredLog


@dataclass
class InMemory:
    """A log in memory."""

    data: bytes

    def size(self, relative: Path) -> int | None:
        return len(self.data)

    def read(self, relative: Path, start: int, end: int) -> bytes:
        return self.data[start:end]


def joined(log: StoredLog, most: int) -> tuple[list[bytes], int]:
    """Read a log by requests for so many bytes each; return its lines, and where reading ends."""
    found: list[bytes] = []
    at = before = -1
    at = 0
    while at != before:
        before = at
        for lines, following in log.pieces(at, most):
            found += lines
            at = following
    return found, at


@given(
    st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"."))),
    st.integers(7, 30),
    st.integers(7, 30),
    st.booleans(),
)
def test_lines_are_the_same_for_all_sizes_of_pieces(
    lines: list[bytes], piece: int, most: int, ended: bool
) -> None:
    log = StoredLog(InMemory(b"".join(line + b"\n" for line in lines)), Path("log"), ended)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log_pieces, "PIECE", piece)

        found, at = joined(log, most)

    assert found == lines
    assert log.is_over(at) is ended


@pytest.mark.parametrize(("ended", "lines"), [(False, [b"a"]), (True, [b"a", b"cut"])])
def test_a_line_without_an_end_waits_for_it_until_the_attempt_has_ended(
    ended: bool, lines: list[bytes]
) -> None:
    log = StoredLog(InMemory(b"a\ncut"), Path("log"), ended)

    assert joined(log, 100)[0] == lines


def test_a_line_longer_than_a_piece_is_broken() -> None:
    log = StoredLog(InMemory(b"x" * 25), Path("log"), ended=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log_pieces, "PIECE", 10)

        assert joined(log, 10)[0] == [b"x" * 10, b"x" * 10, b"x" * 5]
