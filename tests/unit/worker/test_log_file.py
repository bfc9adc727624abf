from collections.abc import Callable
from pathlib import Path

import pytest

from headway.testing.clock import FakeClock
from headway_worker.log_file import LONGEST_LINE, LogFile

STAMP = b"2024-01-01T12:00:00.000Z  "
Write = Callable[..., list[bytes]]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Feed chunks to a log; return its lines without the time before each."""

    def write(*chunks: bytes, limit: int = 10**6) -> list[bytes]:
        path = tmp_path / "deep" / "attempt=1.log"
        log = LogFile(path, limit, FakeClock())
        for chunk in chunks:
            log.feed(chunk)
        log.close()
        lines = path.read_bytes().splitlines(keepends=True)
        assert all(line.startswith(STAMP) and line.endswith(b"\n") for line in lines)
        return [line.removeprefix(STAMP)[:-1] for line in lines]

    return write


def test_every_line_has_the_time_it_came_in(tmp_path: Path) -> None:
    clock = FakeClock()
    log = LogFile(tmp_path / "a.log", 1000, clock)

    log.feed(b"one\ntw")
    clock.advance(1.5)
    log.feed(b"o\n")
    log.close()

    assert (tmp_path / "a.log").read_text() == (
        "2024-01-01T12:00:00.000Z  one\n2024-01-01T12:00:01.500Z  two\n"
    )


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b""], []),
        ([b"\n"], [b""]),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b", b"\n", b"c"], [b"ab", b"c"]),
        ([b"no end"], [b"no end"]),
        ([b"a\r\nb\r\n"], [b"a", b"b"]),
        ([b"\xff\x00\x1b[1m\n"], [b"\xff\x00\x1b[1m"]),
        (["ä".encode()[:1], "ä\n".encode()[1:]], ["ä".encode()]),
    ],
)
def test_output_is_cut_into_lines_and_else_left_as_it_is(
    written: Write, chunks: list[bytes], lines: list[bytes]
) -> None:
    assert written(*chunks) == lines


@pytest.mark.parametrize("chunk", [1000, LONGEST_LINE, LONGEST_LINE + 1, 10**6])
def test_a_line_without_end_is_broken_and_nothing_of_it_is_lost(written: Write, chunk: int) -> None:
    lines = written(*(b"x" * chunk for _ in range(3 * LONGEST_LINE // chunk + 1)), limit=10**8)

    assert sum(map(len, lines)) == chunk * (3 * LONGEST_LINE // chunk + 1)
    assert all(len(line) <= LONGEST_LINE for line in lines)


def test_a_long_line_is_not_kept_in_memory(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "a.log", 10**8, FakeClock())

    log.feed(b"x" * 10 * LONGEST_LINE)

    assert (tmp_path / "a.log").stat().st_size >= 9 * LONGEST_LINE
    log.close()


def test_what_is_over_the_limit_is_dropped_and_counted(written: Write) -> None:
    lines = written(b"12345678\n" * 4, limit=20)

    assert lines[:2] == [b"12345678"] * 2
    (last,) = lines[2:]
    assert last.startswith(b"[headway] The log reached its limit of 20 bytes; 18 bytes more were")


def test_a_log_may_be_as_long_as_its_limit(written: Write) -> None:
    assert written(b"1234\n", b"5678\n", limit=9) == [b"1234", b"5678"]


def test_what_the_worker_has_to_say_is_written_even_so(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "a.log", 5, FakeClock())

    log.feed(b"much too long\n")
    log.say("[headway] success\nin two lines")
    log.close()

    lines = (tmp_path / "a.log").read_bytes().splitlines()
    assert lines[:2] == [STAMP + b"[headway] success", STAMP + b"in two lines"]
    assert b"14 bytes more were dropped" in lines[2]


def test_a_log_is_gone_on_with(tmp_path: Path) -> None:
    for text in (b"before\n", b"after\n"):
        log = LogFile(tmp_path / "a.log", 100, FakeClock())
        log.feed(text)
        log.close()

    assert (tmp_path / "a.log").read_bytes() == STAMP + b"before\n" + STAMP + b"after\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_full_disk_costs_the_log_and_nothing_else() -> None:
    log = LogFile(Path("/dev/full"), 100, FakeClock())

    log.feed(b"lost\n")
    log.say("lost, too")
    log.close()

    assert log.dropped > len("lost" + "lost, too")
