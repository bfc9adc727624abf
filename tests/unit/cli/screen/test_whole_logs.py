"""Logs that are printed whole: those that are there, wherever they are."""

import json
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest

from headway.cli.screen.task_logs import print_whole
from headway.domain.errors import NotFoundError
from headway.runtime.logs.copies import RemoteLogs
from headway.runtime.logs.lines import LogLine, LogSource, encode


def line(message: str) -> bytes:
    return encode(LogLine(time="", source=LogSource.STDOUT, message=message))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    (tmp_path / "logs").mkdir()
    return tmp_path


def test_all_that_are_found_are_printed_in_order(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each try of a callback may have been another machine's."""
    address = f"memory://{uuid4()}/logs"
    monkeypatch.setenv("HEADWAY_LOGS_REMOTE", address)
    logs = [Path(f"callback=1,try={number}.log") for number in (1, 2, 3, 4)]
    RemoteLogs.at(address).put(logs[0], BytesIO(line("elsewhere")))
    (home / "logs" / logs[1]).write_bytes(line("here") + b"its end is torn")
    RemoteLogs.at(address).put(logs[3], BytesIO(line("elsewhere again")))

    print_whole(logs, "callback 1", raw=True)

    printed = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["message"] for line in (printed[0], printed[1], printed[3])] == [
        "elsewhere",
        "here",
        "elsewhere again",
    ]
    assert printed[2] == "its end is torn"


def test_when_none_is_found_it_says_where_it_looked(home: Path) -> None:
    with pytest.raises(NotFoundError, match=f"callback 1 is neither .*{home}/logs/a"):
        print_whole([Path("a"), Path("b")], "callback 1", raw=False)
