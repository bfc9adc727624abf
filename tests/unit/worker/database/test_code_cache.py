"""Contents by hash: fetched once, and mended by whoever finds one missing or wrong."""

from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import Connection

import headway_worker.database.code
import headway_worker.database.worker_database
from headway.db.core import stored_versions
from headway.domain.errors import DagError
from headway.runtime.processes.frames import Frame
from headway.serialization import codec
from headway.serialization.manifest import content_hash
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.protocol.supply import WorkerSupply


@pytest.fixture
def cache(tmp_path: Path) -> CodeCache:
    return CodeCache(tmp_path / "cache" / "code")


@pytest.fixture
def conn(monkeypatch: pytest.MonkeyPatch) -> Connection:
    """Stands for a database in which each manifest has one file, of its own name."""
    monkeypatch.setattr(
        stored_versions, "manifest", lambda _conn, name: {f"{name}.py": f"of-{name}"}
    )
    monkeypatch.setattr(stored_versions, "bundle_hash", lambda *_: None)
    monkeypatch.setattr(
        stored_versions, "contents", lambda _conn, keys: {key: key.encode() for key in keys}
    )
    return Mock(spec=Connection)


def there(cache: CodeCache) -> set[str]:
    return {path.name for path in cache.folder.iterdir()}


def test_contents_are_stored_by_their_hash(cache: CodeCache, conn: Connection) -> None:
    code = cache.fetch(conn, "etl")

    assert code.files == {"etl.py": "of-etl"}
    assert (code.store / "of-etl").read_bytes() == b"of-etl"
    assert there(cache) == {"of-etl"}


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "..", "", ".", "a\0", "a//b"])
def test_no_file_is_named_outside_of_the_bundle(
    cache: CodeCache, conn: Connection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(stored_versions, "manifest", lambda _conn, _name: {"d.py": "1", name: "2"})

    with pytest.raises(DagError, match="which is not in its bundle"):
        cache.fetch(conn, "etl")

    assert not cache.folder.exists()


def test_code_that_is_known_is_not_asked_for_again(
    cache: CodeCache, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = cache.fetch(conn, "etl")
    monkeypatch.setattr(stored_versions, "manifest", Mock(side_effect=AssertionError))

    assert cache.fetch(conn, "etl") == code


def test_the_manifest_that_was_remembered_first_makes_room(
    cache: CodeCache, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(headway_worker.database.code, "MOST_KNOWN", 2)
    for name in ("one", "two", "three"):
        cache.fetch(conn, name)
    manifest = Mock(return_value={})
    monkeypatch.setattr(stored_versions, "manifest", manifest)

    for name in ("two", "three"):
        cache.fetch(conn, name)
    assert not manifest.called
    cache.fetch(conn, "one")
    manifest.assert_called_once_with(conn, "one")


def test_a_content_that_was_changed_is_mended_when_somebody_asks_for_it(
    database: WorkerDatabase, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        headway_worker.database.worker_database, "reader", lambda _engine: database.engine
    )
    monkeypatch.setattr(database.engine, "connect", lambda: nullcontext(conn))
    monkeypatch.setattr(stored_versions, "piece", lambda *_: stored_versions.Piece(b"of-etl", 6))
    stored = database.code.fetch(conn, "etl").store / "of-etl"
    stored.write_bytes(b"stolen")
    claimed = Mock(manifest_hash="etl", version_id=7)

    assert database.piece(claimed, "of-etl", 0).piece == b"of-etl"
    assert stored.read_bytes() == b"of-etl"
    with pytest.raises(PermissionError, match="is none of this version's"):
        database.piece(claimed, "of-another", 0)


CONTENT = b"print('as it was')\n"
HASH = content_hash(CONTENT)


class Worker:
    """Answers what a child asks, in pieces of seven bytes."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.whole = content
        self.asked: list[Frame] = []

    def ask(self, question: Frame) -> Frame:
        self.asked.append(question)
        start = question["start"]
        return {"piece": self.whole[start : start + 7], "size": len(self.whole)}


def test_a_content_that_is_there_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / HASH).write_bytes(CONTENT)
    worker = Worker()

    assert WorkerSupply(tmp_path, worker.ask).content(HASH) == CONTENT
    assert worker.asked == []


@pytest.mark.parametrize("found", [b"print('something else')\n", None])
def test_a_content_that_was_changed_or_is_missing_comes_from_the_worker(
    tmp_path: Path, found: bytes | None
) -> None:
    if found is not None:
        (tmp_path / HASH).write_bytes(found)
    worker = Worker()

    assert WorkerSupply(tmp_path, worker.ask).content(HASH) == CONTENT
    assert [question["start"] for question in worker.asked] == [0, 7, 14]


def test_what_the_worker_says_is_checked_as_well(tmp_path: Path) -> None:
    worker = Worker(b"print('damaged')\n")

    with pytest.raises(DagError, match="has another content"):
        WorkerSupply(tmp_path, worker.ask).content(HASH)


def test_a_code_cache_holds_so_many_dags_at_most(
    database: WorkerDatabase, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        stored_versions, "load", lambda _conn, ids: {number: number for number in ids}
    )
    monkeypatch.setattr(codec, "decode", lambda number: f"dag {number}")
    monkeypatch.setattr(database.engine, "connect", lambda: nullcontext(conn))
    monkeypatch.setattr(headway_worker.database.worker_database, "MOST_DAGS", 2)

    dags = [str(database.fetch(number, "hash")[0]) for number in (1, 2, 3, 1)]

    assert dags == ["dag 1", "dag 2", "dag 3", "dag 1"]
    assert list(database._dags) == [3, 1]
