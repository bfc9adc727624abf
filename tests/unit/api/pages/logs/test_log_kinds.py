"""Which stored lines are of which kind."""

import pytest

from headway.runtime.logs.lines import LogLine, LogSource, encode
from headway_api.pages.logs.log_kinds import LogKind, is_among

TIME = "2024-01-02T03:04:05.678Z"


def stored(source: LogSource, level: str | None = None, message: str = "x") -> bytes:
    return encode(LogLine(time=TIME, source=source, level=level, logger="a.b", message=message))


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        (stored(LogSource.STDOUT), {LogKind.STDOUT}),
        (stored(LogSource.STDERR), {LogKind.STDERR}),
        (stored(LogSource.HEADWAY), {LogKind.HEADWAY}),
        (stored(LogSource.HEADWAY, "ERROR"), {LogKind.HEADWAY, LogKind.ERROR}),
        (stored(LogSource.LOG, "DEBUG"), {LogKind.INFO}),
        (stored(LogSource.LOG, "WARNING"), {LogKind.WARNING}),
        (stored(LogSource.LOG, "CRITICAL"), {LogKind.ERROR}),
        (stored(LogSource.STDOUT, message='"source":"stderr","level":"ERROR"'), {LogKind.STDOUT}),
        (b"no line of a log", set()),
    ],
)
def test_a_line_is_of_its_source_and_level(line: bytes, kinds: set[LogKind]) -> None:
    assert {kind for kind in LogKind if is_among(line, [kind])} == kinds
    assert is_among(line, [])
    assert is_among(line, [*kinds, LogKind.STDOUT]) == bool(kinds)
