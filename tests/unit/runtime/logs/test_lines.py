"""The lines of a log: what is written is what is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.runtime.logs.lines import (
    LONGEST_LINE,
    LogLine,
    LogSource,
    decode,
    encode,
    encode_output,
    record,
    rendered,
)

TIME = "2024-01-01T12:00:00.000Z"


@given(st.text(), st.sampled_from(LogSource), st.none() | st.text(), st.none() | st.text())
def test_a_line_is_read_as_it_was_written(
    message: str, source: LogSource, level: str | None, outcome: str | None
) -> None:
    line = LogLine(time=TIME, source=source, message=message, level=level, outcome=outcome)
    encoded = encode(line)

    assert encoded.count(b"\n") == 1
    assert decode(encoded) == line


@given(st.binary(max_size=200), st.sampled_from([LogSource.STDOUT, LogSource.STDERR]))
def test_whatever_is_printed_makes_valid_lines_of_no_other_source(
    output: bytes, source: LogSource
) -> None:
    for line in encode_output(TIME, source, output):
        assert line.count(b"\n") == 1
        found = json.loads(line)
        assert (found["time"], found["source"]) == (TIME, source)


@given(st.text('\x1e\x1f\\"ab\n'))
def test_a_record_that_was_made_up_is_a_record_or_a_message(told: str) -> None:
    for line in encode_output(TIME, LogSource.STDERR, f"\x1e{told}".encode()):
        assert decode(line).source in {LogSource.LOG, LogSource.STDERR}
        assert decode(line).time == TIME


@given(st.text(), st.sampled_from(["", "a\n" * LONGEST_LINE, "\x01" * LONGEST_LINE]))
def test_a_record_is_one_line_and_as_long_as_need_be(text: str, more: str) -> None:
    told = record("INFO", "logger", text + more)
    lines = [decode(line) for line in encode_output(TIME, LogSource.STDERR, _printed(told))]

    assert "\n" not in told
    assert {(line.source, line.level, line.logger) for line in lines} == {
        (LogSource.LOG, "INFO", "logger")
    }
    assert all(len(line.message) <= LONGEST_LINE for line in lines)
    assert "".join(line.message for line in lines) == text + more


def _printed(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


@pytest.mark.parametrize(
    "line", [b"plain text", b"{}", b"[]", b"null", b'{"time":1}', b"\xff", b"[" * 10_000, b"7"]
)
def test_a_line_that_is_none_is_shown_as_it_is(line: bytes) -> None:
    assert decode(line) == LogLine(
        time="", source="stdout", message=line.decode(errors="backslashreplace")
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (LogLine(time=TIME, source="stdout", message="a"), [f"{TIME}  a"]),
        (LogLine(time=TIME, source="stderr", message="a"), [f"{TIME}  [stderr] a"]),
        (
            LogLine(time=TIME, source="headway", level="INFO", message="a\nb"),
            [f"{TIME}  [headway] a", f"{TIME}  [headway] b"],
        ),
        (
            LogLine(time=TIME, source="log", level="ERROR", logger="my.task", message="a"),
            [f"{TIME}  [ERROR] my.task: a"],
        ),
        (LogLine(time=TIME, source="stdout", message="1%\r50%\r100%\r"), [f"{TIME}  100%"]),
        (LogLine(time="", source="stdout", message="a"), ["a"]),
    ],
)
def test_a_person_sees_the_time_and_where_it_comes_from(line: LogLine, text: list[str]) -> None:
    assert rendered(line) == text
