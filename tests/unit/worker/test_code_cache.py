"""The code of a version is written below its own folder, whole or not at all."""

from pathlib import Path

import pytest

from headway.domain.errors import SerializationError
from headway_worker.code import CodeCache


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
