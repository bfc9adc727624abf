"""Copies of logs in an object store: how it is named, and what is missing."""

import io
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headway.domain.errors import LogsError, SettingsError
from headway.runtime.logs.copies import RemoteLogs
from headway.runtime.logs.reading import LocalLogs, LogReader
from headway.runtime.settings import configuration
from headway.runtime.settings.logs import LogSettings

LOG = Path("dag_id=d/run_id=2013-01-01T05:00:00+00:00/attempt=1.log")


@pytest.fixture
def remote() -> RemoteLogs:
    return RemoteLogs.at(f"memory://{uuid4()}/logs")


def test_a_store_is_read_by_range(remote: RemoteLogs) -> None:
    assert remote.size(LOG) is None
    remote.put(LOG, io.BytesIO(b"0123456789"))
    remote.put(LOG, io.BytesIO(b"0123456789ab"))

    assert remote.size(LOG) == 12
    assert (remote.read(LOG, 0, 4), remote.read(LOG, 10, 99)) == (b"0123", b"ab")


def test_a_log_is_read_as_it_grows_wherever_it_is(remote: RemoteLogs, tmp_path: Path) -> None:
    reader = LogReader(LOG, [LocalLogs(tmp_path), remote])
    assert (reader.place(), list(reader.lines())) == (None, [])

    remote.put(LOG, io.BytesIO(b"one\ntw"))
    assert list(reader.lines()) == [b"one"]
    remote.put(LOG, io.BytesIO(b"one\ntwo\n"))
    assert list(reader.lines()) == [b"two"]
    assert reader.source is remote

    (tmp_path / LOG).parent.mkdir(parents=True)
    (tmp_path / LOG).write_bytes(b"one\ntwo\nthree\nfo")
    assert list(reader.lines()) == [b"three"]
    assert isinstance(reader.source, LocalLogs)
    assert (reader.rest(), reader.rest()) == (b"fo", b"")


def test_a_large_log_is_read_piece_by_piece(tmp_path: Path) -> None:
    lines = [b"%d" % number * 100 for number in range(10_000)]
    (tmp_path / "log").write_bytes(b"\n".join(lines) + b"\n")

    reader = LogReader(Path("log"), [LocalLogs(tmp_path)])

    assert list(reader.lines()) == lines


def test_a_store_whose_library_is_missing_is_told_at_once() -> None:
    with pytest.raises(SettingsError, match=r"HEADWAY_LOGS_REMOTE.*pip install"):
        RemoteLogs.at("abfs://container/logs")


def test_a_store_that_nobody_knows_is_told_at_once() -> None:
    with pytest.raises(SettingsError, match="HEADWAY_LOGS_REMOTE: nowhere://a: Protocol not known"):
        RemoteLogs.at("nowhere://a")


@pytest.mark.parametrize(
    ("given", "kept"),
    [(None, None), ("", None), ("s3://bucket/a/", "s3://bucket/a"), ("file:///a", "file:///a")],
)
def test_a_remote_is_an_address(given: str | None, kept: str | None) -> None:
    assert configuration.read(LogSettings, remote=given).remote == kept


@pytest.mark.parametrize(
    "given",
    [
        "/folder",
        "bucket",
        "s3://",
        "s3://key:secret@bucket",
        "zip::s3://a",
        "s3://a?b=c",
        "s3://a b",
    ],
)
def test_what_is_no_address_or_holds_a_login_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match="without a login"):
        configuration.read(LogSettings, remote=given)


class Away:
    """A store whose library has an error of its own for everything."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def size(self, _path: str) -> int:
        raise self.error

    def cat_file(self, _path: str, **_range: int) -> bytes:
        raise self.error

    def unstrip_protocol(self, path: str) -> str:
        return f"s3://{path}"


@pytest.mark.parametrize("kind", [RuntimeError, PermissionError])
def test_a_store_that_cannot_be_reached_is_named_with_what_to_check(kind: type[Exception]) -> None:
    files: Any = Away(kind("no credentials"))
    remote = RemoteLogs(files, "bucket/logs")
    message = "s3://bucket/logs cannot be read: .*no credentials.* Check HEADWAY_LOGS_REMOTE"

    with pytest.raises(LogsError, match=message):
        remote.size(LOG)
    with pytest.raises(LogsError, match=message):
        remote.read(LOG, 0, 1)


def test_a_log_that_was_removed_meanwhile_has_nothing_more_to_read(
    remote: RemoteLogs, tmp_path: Path
) -> None:
    assert (remote.read(LOG, 0, 1), LocalLogs(tmp_path).read(LOG, 0, 1)) == (b"", b"")


def test_a_file_that_must_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "log").symlink_to(tmp_path / "secret")
    local = LocalLogs(tmp_path)

    with pytest.raises(LogsError, match=f"{tmp_path}/log cannot be read: Too many levels"):
        local.size(Path("log"))
    with pytest.raises(LogsError, match="Check who may read it"):
        local.read(Path("log"), 0, 9)
