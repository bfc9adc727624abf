"""Versions get all files of their bundle, be it later."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from sqlalchemy import Connection, Engine, text
from tests.integration.parses import parse, take_over

from headway.db.core import stored_versions
from headway.db.core.processes import Identity
from headway.db.parsing import files, stored_code
from headway.db.parsing.files import FileKey
from headway.db.reads import dag_file_views
from headway.serialization.manifest import content_hash
from headway.testing.data import seed
from headway.testing.time.clock import FakeClock
from headway_parser.bundles.bundle_files import BundleFiles, BundleReader
from headway_parser.discover.listing import Lister
from headway_parser.publish import versions_in_force
from headway_parser.publish.stored_parse import StoredParse

OLDER_RELEASE = text("UPDATE dag_version SET bundle_hash = NULL, bundle_complete = false")
GAP = "lost+found: Permission denied"


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "parser")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text("1,2")
    return tmp_path


def parsed(root: Path, task: str = "extract", gap: str = "", code: bytes = b"code") -> StoredParse:
    stamps = Lister(safe_mode=False).list(root).all_files
    bundle = BundleFiles(root, stamps, BundleReader(FakeClock()), gap)
    return replace(parse("a.py", seed.dag(seed.task(task)), code=code), bundle=bundle)


def stored(engine: Engine) -> list[set[str] | None]:
    """Return the names of the files of the bundle that each version has."""
    found: list[set[str] | None] = []
    with engine.connect() as conn:
        for number in conn.scalars(text("SELECT id FROM dag_version ORDER BY id")).all():
            key = stored_versions.bundle_hash(conn, number)
            found.append(None if key is None else set(stored_versions.manifest(conn, key)))
    return found


def is_incomplete(engine: Engine) -> bool:
    with engine.connect() as conn:
        return files.board(conn, ["main"])[FileKey("main", "a.py")].incomplete


def warnings(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return [problem.error for problem in dag_file_views.warnings(conn)]


@pytest.mark.regression
def test_a_version_of_an_older_release_gets_its_bundles_files(
    engine: Engine, me: Identity, root: Path
) -> None:
    take_over(engine, me, parsed(root))
    with engine.begin() as conn:
        conn.execute(OLDER_RELEASE)
    assert is_incomplete(engine)

    take_over(engine, me, parsed(root))

    assert stored(engine) == [{"data.csv"}]
    assert not is_incomplete(engine)


@pytest.mark.regression
def test_a_version_that_is_put_in_force_again_gets_its_bundles_files(
    engine: Engine, me: Identity, root: Path
) -> None:
    take_over(engine, me, parsed(root, "one", code=b"1"), parsed(root, "two", code=b"2"))
    with engine.begin() as conn:
        conn.execute(OLDER_RELEASE)

    take_over(engine, me, parsed(root, "one", code=b"1"))

    assert stored(engine) == [{"data.csv"}, None]
    assert not is_incomplete(engine)


@pytest.mark.regression
def test_an_incomplete_set_is_completed_and_its_author_is_told(
    engine: Engine, me: Identity, root: Path
) -> None:
    take_over(engine, me, parsed(root, gap=GAP))
    assert stored(engine) == [{"data.csv"}]
    assert is_incomplete(engine)
    [warning] = warnings(engine)
    assert warning == (
        f"Tasks may lack files of the bundle. {GAP}. What is missing is added to the version once "
        "the parser has found all files."
    )

    (root / "more.csv").write_text("3,4")
    take_over(engine, me, parsed(root))

    assert stored(engine) == [{"data.csv", "more.csv"}]
    assert not is_incomplete(engine)
    assert warnings(engine) == []


def test_files_of_a_bundle_that_is_stored_are_not_asked_for_again(
    engine: Engine, me: Identity, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cold start stores hundreds of DAG files of one scan, some at a time."""
    first = parsed(root)
    take_over(engine, me, first)
    monkeypatch.setattr(versions_in_force, "_unknown_files", MagicMock(side_effect=AssertionError))
    later = parse("b.py", seed.dag(seed.task("load"), dag_id="b"), code=b"more")

    take_over(engine, me, replace(later, bundle=first.bundle))

    assert stored(engine) == [{"data.csv"}, {"data.csv"}]


@pytest.mark.parametrize("forgotten", [False, True])
def test_of_a_bundle_that_has_changed_only_what_has_is_asked_for(
    engine: Engine, me: Identity, root: Path, monkeypatch: pytest.MonkeyPatch, forgotten: bool
) -> None:
    """A bundle may have thousands of files, of which one is edited, again and again."""
    first = parsed(root)
    take_over(engine, me, first)
    assert first.bundle is not None
    if forgotten:  # as if the transaction that stored it had been rolled back
        first.bundle.last.manifest_hash = "0" * 64
    (root / "more.csv").write_text("3,4")
    second = parsed(root, code=b"edited")
    assert second.bundle is not None
    asked: list[set[str]] = []

    def unknown(conn: Connection, held: Collection[str], hashes: Collection[str]) -> list[str]:
        asked.append(set(hashes) - set(held))
        return stored_code.unknown_files(conn, asked[-1])

    monkeypatch.setattr(versions_in_force, "_unknown_files", unknown)

    take_over(engine, me, replace(second, bundle=replace(second.bundle, last=first.bundle.last)))

    new = {content_hash(b"3,4")}
    assert asked == [new | {content_hash(b"1,2")} if forgotten else new]
    assert stored(engine) == [{"data.csv"}, {"data.csv", "more.csv"}]


def test_another_incomplete_set_replaces_none(engine: Engine, me: Identity, root: Path) -> None:
    take_over(engine, me, parsed(root, gap=GAP))
    (root / "data.csv").unlink()
    take_over(engine, me, parsed(root, gap=GAP))

    assert stored(engine) == [{"data.csv"}]
    assert is_incomplete(engine)


def test_a_version_that_has_all_files_keeps_them(engine: Engine, me: Identity, root: Path) -> None:
    take_over(engine, me, parsed(root))
    (root / "more.csv").write_text("3,4")
    take_over(engine, me, parsed(root), parsed(root, gap=GAP))

    assert stored(engine) == [{"data.csv"}]
    assert warnings(engine) == []


def test_files_of_the_last_incomplete_set_are_better_than_none(
    engine: Engine, me: Identity, root: Path
) -> None:
    take_over(engine, me, parsed(root))
    with engine.begin() as conn:
        conn.execute(OLDER_RELEASE)
    take_over(engine, me, parsed(root, gap=GAP))

    assert stored(engine) == [{"data.csv"}]
    assert is_incomplete(engine)
