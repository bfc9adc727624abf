"""The worker's folder of contents is bounded by age and size; what is in use stays."""

import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import Connection

from headway.db.core import stored_versions
from headway.testing.time.clock import FakeClock
from headway_worker.database import code_tidying
from headway_worker.database.code import TIDIED_AFTER, CodeCache
from headway_worker.database.code_tidying import DRAFTS_KEPT, IN_USE, KEPT, tidy

NOW = 1e9
A, B, C = ("a" * 64, "b" * 64, "c" * 64)


def there(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def write(folder: Path, name: str, age: float, size: int = 10) -> None:
    (folder / name).write_bytes(b"x" * size)
    os.utime(folder / name, (NOW - age, NOW - age))


def write_folder(folder: Path, name: str, age: float) -> None:
    (folder / name / "lib").mkdir(parents=True)
    (folder / name / "lib" / "x.py").touch()
    os.utime(folder / name, (NOW - age, NOW - age))


def test_contents_that_nobody_has_fetched_for_long_go(tmp_path: Path) -> None:
    write(tmp_path, A, KEPT + 1)
    write(tmp_path, B, KEPT - 1)
    write(tmp_path, C, KEPT + 1)

    tidy(tmp_path, NOW, {C})

    assert there(tmp_path) == {B, C}


@pytest.mark.regression
def test_folders_of_older_releases_go_when_they_are_old(tmp_path: Path) -> None:
    write_folder(tmp_path, A, KEPT + 1)
    write_folder(tmp_path, B, KEPT + 1)
    write_folder(tmp_path, C, KEPT - 1)
    write(tmp_path, f"{A}.fetched", KEPT + 1)
    write(tmp_path, f"{B}.fetched", 10)

    tidy(tmp_path, NOW, ())

    assert there(tmp_path) == {B, f"{B}.fetched", C}


def test_drafts_of_workers_that_were_killed_go(tmp_path: Path) -> None:
    write_folder(tmp_path, "tmpabc", DRAFTS_KEPT + 1)
    write_folder(tmp_path, "tmpdef", DRAFTS_KEPT - 1)

    tidy(tmp_path, NOW, ())

    assert there(tmp_path) == {"tmpdef"}


@pytest.mark.regression
def test_beyond_the_limit_those_go_that_nobody_has_fetched_for_the_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_tidying, "MOST_BYTES", 25)
    write(tmp_path, A, IN_USE + 1)
    write(tmp_path, B, IN_USE + 2)
    write(tmp_path, C, IN_USE + 3)

    tidy(tmp_path, NOW, {C})
    assert there(tmp_path) == {A, C}
    monkeypatch.setattr(code_tidying, "MOST_BYTES", 0)
    write(tmp_path, B, IN_USE - 1)
    tidy(tmp_path, NOW, {C})
    assert there(tmp_path) == {B, C}


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    write_folder(tmp_path, "elsewhere", 0)
    store = tmp_path / "store"
    store.mkdir()
    (store / A).symlink_to(tmp_path / "elsewhere")
    os.utime(store / A, (NOW - 2 * KEPT,) * 2, follow_symlinks=False)

    tidy(store, NOW, ())

    assert there(store) == set()
    assert (tmp_path / "elsewhere" / "lib" / "x.py").exists()


def test_the_folder_is_tidied_once_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_versions, "manifest", lambda _conn, name: {f"{name}.py": name})
    monkeypatch.setattr(stored_versions, "contents", lambda _conn, keys: dict.fromkeys(keys, b"x"))
    clock, conn = FakeClock(), Mock(spec=Connection)
    cache = CodeCache(tmp_path, clock)
    cache.fetch(conn, A)
    old = clock.now().timestamp() - 2 * KEPT
    for name in (A, B):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (old, old))

    cache.fetch(conn, C)
    assert there(tmp_path) == {A, B, C}
    clock.advance(TIDIED_AFTER)
    cache.fetch(conn, "d" * 64)

    assert there(tmp_path) == {A, C, "d" * 64}  # the first one is known to this worker
