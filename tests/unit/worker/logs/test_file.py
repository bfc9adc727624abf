"""What of a task's output is written to its log, and how."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.runtime.logs.lines import LONGEST_LINE, LogLine, LogSource, decode, record
from headway.testing.processes.disk import largest_file
from headway.testing.time.clock import FakeClock
from headway_worker.logs.file import PATIENCE, WINDOW, LogFile, LogLimits
from headway_worker.logs.overflow import Overflow

OUT, ERR = LogSource.STDOUT, LogSource.STDERR
PLENTY = LogLimits(10**9, 10**9)
Open = Callable[..., LogFile]


def opened(folder: Path, limits: LogLimits = PLENTY, clock: FakeClock | None = None) -> LogFile:
    return LogFile(folder, Path("deep/attempt=1.log"), limits, clock or FakeClock())


def lines(log: LogFile) -> list[LogLine]:
    content = (log.folder / log.relative).read_bytes()
    assert content.endswith(b"\n")
    return [decode(line) for line in content.split(b"\n")[:-1]]


def messages(log: LogFile, source: LogSource | None = None) -> list[str]:
    return [line.message for line in lines(log) if source in {None, line.source}]


def write(folder: Path, *chunks: bytes, limits: LogLimits = PLENTY) -> LogFile:
    log = opened(folder, limits)
    for chunk in chunks:
        log.feed(OUT, chunk)
    log.close()
    return log


def test_every_line_has_the_time_it_came_in_and_where_from(tmp_path: Path) -> None:
    clock = FakeClock()
    log = opened(tmp_path, clock=clock)

    log.feed(OUT, b"one\ntw")
    clock.advance(1.5)
    log.feed(ERR, b"three\n")
    log.feed(OUT, b"o\n")
    log.say("a word")
    log.close("failed: oh", "failed")

    at = "2024-01-01T12:00:01.500Z"
    assert (tmp_path / "deep" / "attempt=1.log").read_text().splitlines()[0] == (
        '{"time":"2024-01-01T12:00:00.000Z","source":"stdout","message":"one"}'
    )
    assert lines(log)[1:] == [
        LogLine(time=at, source="stderr", message="three"),
        LogLine(time=at, source="stdout", message="two"),
        LogLine(time=at, source="headway", level="INFO", message="a word"),
        LogLine(time=at, source="headway", level="ERROR", message="failed: oh", outcome="failed"),
    ]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"\n"], [""]),
        ([b"a\nb\n"], ["a", "b"]),
        ([b"a", b"b", b"\n", b"c"], ["ab", "c"]),
        ([b"no end"], ["no end"]),
        ([b"a\r\nb\r\n"], ["a", "b"]),
        ([b"\xff\x00\x1b[1m\n"], ["\\xff\x00\x1b[1m"]),
        (["ä".encode()[:1], "ä\n".encode()[1:]], ["ä"]),
        ([b'"}\n{"source":"headway"}\n'], ['"}', '{"source":"headway"}']),
    ],
)
def test_output_is_cut_into_lines_and_whatever_it_is_stays_a_message(
    tmp_path: Path, chunks: list[bytes], expected: list[str]
) -> None:
    assert messages(write(tmp_path, *chunks), OUT) == expected


def test_without_output_there_is_no_file(tmp_path: Path) -> None:
    log = write(tmp_path, b"")

    assert not (log.folder / log.relative).exists()


@pytest.mark.parametrize("chunk", [1000, LONGEST_LINE, LONGEST_LINE + 1, 10**6])
def test_a_line_without_end_is_broken_and_nothing_of_it_is_lost(tmp_path: Path, chunk: int) -> None:
    log = write(tmp_path, *(b"x" * chunk for _ in range(3 * LONGEST_LINE // chunk + 1)))

    assert sum(map(len, messages(log))) == chunk * (3 * LONGEST_LINE // chunk + 1)
    assert all(len(line) <= LONGEST_LINE for line in messages(log))


def test_a_line_is_not_broken_within_a_character(tmp_path: Path) -> None:
    log = write(tmp_path, b"x" + "ä".encode() * 4 * LONGEST_LINE)

    assert "".join(messages(log)) == "x" + "ä" * 4 * LONGEST_LINE


def test_a_long_line_is_not_kept_in_memory(tmp_path: Path) -> None:
    log = opened(tmp_path)

    log.feed(OUT, b"x" * 10 * LONGEST_LINE)

    assert (log.folder / log.relative).stat().st_size >= 9 * LONGEST_LINE
    log.close()


def test_records_of_logging_have_their_level_and_logger(tmp_path: Path) -> None:
    log = opened(tmp_path)
    told = record("WARNING", "my.module", "two\nlines")

    log.feed(ERR, b"50%" + told.encode() + b"\n" + b"\x1e no record\n")
    log.feed(OUT, told.encode() + b"\n")
    log.close()

    first, second, third, fourth = lines(log)
    assert (first.source, first.message) == (ERR, "50%")
    assert second == LogLine(
        time=first.time,
        source="log",
        level="WARNING",
        logger="my.module",
        message="two\nlines",
    )
    assert third.message == "\x1e no record"
    assert fourth.source == OUT


def test_of_what_is_over_the_limit_the_end_is_kept(tmp_path: Path) -> None:
    log = write(tmp_path, *(b"line %d\n" % n for n in range(1000)), limits=LogLimits(8000, 10**9))
    printed, said = messages(log, OUT), messages(log, LogSource.HEADWAY)

    head = next(n for n, line in enumerate(printed) if line != f"line {n}")
    assert printed[head:] == [f"line {n}" for n in range(1000 - len(printed) + head, 1000)]
    assert 0 < len(printed) - head < head
    assert "reached its limit of 8,000 bytes (HEADWAY_LOGS_MAX_BYTES)" in said[0]
    left_out = [f"line {n}\n" for n in range(head, 1000 - len(printed) + head)]
    assert said[1] == (
        f"{len(left_out):,} lines of {len(''.join(left_out)):,} bytes were left out here: the "
        "limit of the log is 8,000 bytes (HEADWAY_LOGS_MAX_BYTES)."
    )
    assert [line.source for line in lines(log)].index("headway") == head
    own = sum(len(f"{line}") for line in said) + 500
    assert (log.folder / log.relative).stat().st_size <= 8000 + own


def test_a_log_may_be_as_long_as_its_limit(tmp_path: Path) -> None:
    line = len('{"time":"2024-01-01T12:00:00.000Z","source":"stdout","message":"1234"}\n')
    limits = LogLimits(1 + 8 * line // 3, 10**9)  # three quarters are for the beginning

    assert messages(write(tmp_path, b"1234\n", b"5678\n", limits=limits)) == ["1234", "5678"]


def test_a_flood_is_thinned_out_and_what_was_left_out_is_counted(tmp_path: Path) -> None:
    clock = FakeClock()
    log = opened(tmp_path, LogLimits(10**9, 2000), clock)

    for second in range(3):
        for number in range(100):
            log.feed(OUT, b"%d-%d\n" % (second, number))
        clock.advance(WINDOW)
    log.feed(OUT, b"later\n")
    log.close()

    printed, said = messages(log, OUT), messages(log, LogSource.HEADWAY)
    assert [line for line in printed if line.endswith("-0")] == ["0-0", "1-0", "2-0"]
    assert len(printed) < 100
    assert printed[-1] == "later"
    assert len(said) == 3
    assert all("of one second at most 2,000 bytes" in line for line in said)
    assert sum(int(line.split()[0]) for line in said) + len(printed) == 301


def test_nothing_is_written_between_what_was_left_out(tmp_path: Path) -> None:
    clock = FakeClock()
    log = opened(tmp_path, LogLimits(10**9, 2000), clock)

    log.feed(OUT, b"x" * 3000 + b"\n")
    log.feed(OUT, b"short\n")
    clock.advance(WINDOW)
    log.feed(OUT, b"later\n")
    log.close()

    assert messages(log)[0].startswith("2 lines of 3,007 bytes were left out here")
    assert messages(log)[1:] == ["later"]


def test_only_the_end_of_what_is_left_out_is_in_memory() -> None:
    overflow = Overflow(tail=1000)
    for _ in range(100):
        overflow.add("", OUT, b"x" * 400)

    assert (overflow.lines, overflow.size) == (100, 40_100)
    assert len(overflow._blocks) == 3
    rest = overflow.rest()
    assert (rest.left_out_lines, len(rest.lines)) == (98, 2)


def test_what_the_worker_has_to_say_is_written_even_so(tmp_path: Path) -> None:
    log = opened(tmp_path, LogLimits(1024, 1024))

    log.feed(OUT, b"much too long " * 100 + b"\n")
    log.say("in\ntwo lines")
    log.close("success: done.", "success")

    assert messages(log, LogSource.HEADWAY)[-3] == "in\ntwo lines"
    assert "1 lines of 1,401 bytes were left out" in messages(log)[-2]
    assert lines(log)[-1].outcome == "success"


def test_a_log_is_gone_on_with(tmp_path: Path) -> None:
    write(tmp_path, b"before\n")

    assert messages(write(tmp_path, b"after\n")) == ["before", "after"]


def test_secrets_are_masked_in_both_streams_and_in_what_the_worker_says(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.masker.prepare("hunter2")

    log.feed(OUT, b"a hunt")
    log.feed(ERR, b"b hunter")
    log.feed(OUT, b"er2\nand hunt")
    log.feed(ERR, b"2\n")
    log.say("c hunter2")
    log.close("failed: hunter2", "failed")

    assert "hunter2" not in (log.folder / log.relative).read_text()
    assert messages(log) == ["a ***", "b ***", "c ***", "and hunt", "failed: ***"]


def test_a_secret_in_a_long_record_is_masked_wherever_it_stands(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.masker.prepare("hunter2")

    told = record("INFO", "db", "hunter2" * 10_000) + "\n"
    for start in range(0, len(told), 1000):
        log.feed(ERR, told[start : start + 1000].encode())
    log.close()

    assert {message.replace("*", "") for message in messages(log)} == {""}


def test_a_whole_line_is_not_held_back_for_ever(tmp_path: Path) -> None:
    clock = FakeClock()
    log = opened(tmp_path, clock=clock)
    log.masker.prepare("a\nsecret of two lines")

    log.feed(OUT, b"a\n")
    log.tick()
    assert not (log.folder / log.relative).exists()
    clock.advance(PATIENCE)
    log.tick()
    assert messages(log) == ["a"]
    log.close()


def _line(message: str) -> str:
    return f'{{"time":"2024-01-01T12:00:00.000Z","source":"stdout","message":"{message}"}}\n'


@pytest.mark.parametrize("size", [700, 1000, 4096])
def test_on_a_full_disk_the_log_says_so_and_how_it_ended(tmp_path: Path, size: int) -> None:
    log = opened(tmp_path)

    with largest_file(size):
        for number in range(100):
            log.feed(OUT, b"line %d\n" % number)
        log.close("success: done.", "success")

    assert messages(log)[0] == "line 0"
    assert "bytes of this log could not be written: File too large" in messages(log)[-2]
    assert (lines(log)[-1].message, lines(log)[-1].outcome) == ("success: done.", "success")
    left = (log.folder / log.relative).read_bytes()
    assert len(left) <= size
    assert log.lost > 0
    of_the_task = b"".join(left.splitlines(keepends=True)[:-2])
    printed = sum(len(_line(f"line {number}")) for number in range(100))
    assert f"{printed - len(of_the_task):,} bytes of this log" in messages(log)[-2]


def test_when_there_is_room_again_the_gap_is_marked(tmp_path: Path) -> None:
    log = opened(tmp_path)

    with largest_file(100):
        log.feed(OUT, b"one\n")
        log.feed(OUT, b"two\n")
        assert messages(log) == ["one"], "and no part of a line"
    log.feed(OUT, b"three\n")
    log.close()

    assert messages(log)[0] == "one"
    assert messages(log)[1].startswith("70 bytes of this log could not be written")
    assert messages(log)[2:] == ["three"]


def test_a_log_that_cannot_be_made_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text("in the way")
    closed: list[LogFile] = []
    log = LogFile(tmp_path, Path("deep/log"), PLENTY, FakeClock(), closed.append)

    log.feed(OUT, b"lost\n")
    log.close("success: done.", "success")

    assert log.lost > len("lost")
    assert closed == [log]
