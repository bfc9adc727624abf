"""The code of a version is written below its own folder, whole or not at all."""

import os
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import Connection

import headway_worker.clerk
from headway.db import versions
from headway.domain.errors import SerializationError
from headway.serialization import codec
from headway_worker.clerk import Clerk
from headway_worker.code import KEPT, CodeCache


@pytest.fixture
def cache(tmp_path: Path) -> CodeCache:
    return CodeCache(tmp_path / "cache" / "code")


def test_files_are_written_with_their_folders(cache: CodeCache) -> None:
    target = cache.folder / "hash"

    cache._write(target, {"d.py": b"1", "lib/deep/x.py": b"2"})

    assert (target / "d.py").read_bytes() == b"1"
    assert (target / "lib" / "deep" / "x.py").read_bytes() == b"2"
    assert [path.name for path in cache.folder.iterdir()] == ["hash"]


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "..", "", ".", "a\0"])
def test_no_file_is_written_outside(cache: CodeCache, name: str) -> None:
    target = cache.folder / "hash"

    with pytest.raises(SerializationError, match="which is not in its bundle"):
        cache._write(target, {"d.py": b"1", name: b"evil"})

    assert list(cache.folder.iterdir()) == []
    assert [path.name for path in cache.folder.parents[1].iterdir()] == ["cache"]


def test_whoever_comes_second_finds_it_done(cache: CodeCache) -> None:
    target = cache.folder / "hash"
    cache._write(target, {"d.py": b"1"})

    cache._write(target, {"d.py": b"1"})

    assert (target / "d.py").read_bytes() == b"1"
    assert [path.name for path in cache.folder.iterdir()] == ["hash"]


def test_a_folder_that_cannot_be_made_says_so(cache: CodeCache) -> None:
    cache.folder.mkdir(parents=True)
    (cache.folder / "hash").write_text("a file in the way")

    with pytest.raises(NotADirectoryError):
        cache._write(cache.folder / "hash", {"d.py": b"1"})


@pytest.fixture
def conn(monkeypatch: pytest.MonkeyPatch) -> Connection:
    """Stands for a database in which each manifest has one file of the same name."""
    monkeypatch.setattr(versions, "manifest", lambda _conn, name: {f"{name}.py": name})
    monkeypatch.setattr(versions, "contents", lambda _conn, keys: dict.fromkeys(keys, b"1"))
    return Mock(spec=Connection)


def age(folder: Path, seconds: float) -> None:
    stamp = folder.with_suffix(".fetched")
    then = stamp.stat().st_mtime - seconds
    os.utime(stamp, (then, then))


def test_code_that_nobody_has_fetched_for_long_goes_when_other_code_comes(
    cache: CodeCache, conn: Connection
) -> None:
    old, used, young = (cache.fetch(conn, name) for name in ("old", "used", "young"))
    for folder, seconds in ((old, KEPT + 60), (used, KEPT + 60), (young, KEPT - 60)):
        age(folder, seconds)
    assert cache.fetch(conn, "used") == used
    assert old.is_dir()

    new = cache.fetch(conn, "new")

    assert {path for path in cache.folder.iterdir() if path.is_dir()} == {used, young, new}
    assert len(list(cache.folder.iterdir())) == 6
    assert (used / "used.py").read_bytes() == b"1"


def test_code_that_another_worker_removes_is_fetched_again(
    cache: CodeCache, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = cache.fetch(conn, "hash")
    stamp = os.utime

    def removed_first(path: Path, times: tuple[float, float]) -> None:
        monkeypatch.setattr(os, "utime", stamp)
        target.rename(target.with_name("gone"))
        stamp(path, times)

    monkeypatch.setattr(os, "utime", removed_first)

    assert cache.fetch(conn, "hash") == target
    assert (target / "hash.py").read_bytes() == b"1"


def test_a_clerk_holds_so_many_dags_at_most(
    clerk: Clerk, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "load", lambda _conn, ids: {number: number for number in ids})
    monkeypatch.setattr(codec, "decode", lambda number: f"dag {number}")
    monkeypatch.setattr(clerk.engine, "connect", lambda: nullcontext(conn))
    monkeypatch.setattr(headway_worker.clerk, "MOST_DAGS", 2)

    dags = [str(clerk.fetch(number, "hash")[0]) for number in (1, 2, 3, 1)]

    assert dags == ["dag 1", "dag 2", "dag 3", "dag 1"]
    assert list(clerk._dags) == [3, 1]
