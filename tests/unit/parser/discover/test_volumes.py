"""Volumes that are mounted below a bundle's folder, and are not there any more."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway_parser.discover.listing import Lister, Listing


def write(root: Path, name: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("from headway.sdk import DAG\n")


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """A folder of another device than the other folders of a test."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is only one device here")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def test_a_listing_without_a_volume_that_was_mounted_before_is_not_complete(
    tmp_path: Path, volume: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A link to it stands for its mount point: what is there then is another device as well."""
    dags, team = tmp_path / "dags", tmp_path / "dags" / "team"
    write(dags, "a.py")
    write(volume, "sub/b.py")
    team.symlink_to(volume)
    lister = Lister()
    whole = Listing(("a.py", "team/sub/b.py"), complete=True)
    assert lister.list(dags) == whole

    team.unlink()
    team.mkdir()
    for _ in range(2):
        assert lister.list(dags) == Listing(("a.py",), complete=False)
    write(dags, "team/c.py")
    assert lister.list(dags) == Listing(("a.py", "team/c.py"), complete=False)
    assert caplog.text.count(f"{team}: was a volume of its own") == 1

    shutil.rmtree(team)
    team.symlink_to(volume)
    assert lister.list(dags) == whole
    (volume / "sub").rename(volume / "elsewhere")
    assert lister.list(dags) == Listing(("a.py", "team/elsewhere/b.py"), complete=True)


def test_a_link_to_a_volume_that_is_away_leaves_a_listing_incomplete(
    tmp_path: Path, volume: Path
) -> None:
    write(tmp_path, "a.py")
    write(volume, "b.py")
    (tmp_path / "team").symlink_to(volume / "mount")
    volume.joinpath("mount").mkdir()
    lister = Lister()
    assert lister.list(tmp_path) == Listing(("a.py",), complete=True)

    volume.joinpath("mount").rmdir()
    assert lister.list(tmp_path) == Listing(("a.py",), complete=False)


@pytest.mark.parametrize("how", ["removed", "ignored", "elsewhere"])
def test_a_volume_that_is_rightly_gone_is_not_missed(
    tmp_path: Path, volume: Path, how: str
) -> None:
    for folder in (tmp_path / "dags", tmp_path / "next"):
        write(folder, "a.py")
    write(volume, "b.py")
    dags = tmp_path / "dags"
    (dags / "team").symlink_to(volume)
    lister = Lister()
    lister.list(dags)

    if how == "removed":
        (dags / "team").unlink()
    elif how == "ignored":
        (dags / ".headwayignore").write_text("/team/\n")
    else:  # another folder has taken the bundle's place
        (tmp_path / "next" / "team").mkdir()
        dags.rename(tmp_path / "before")
        (tmp_path / "next").rename(dags)
    assert lister.list(dags) == Listing(("a.py",), complete=True)


def test_a_volume_that_was_removed_for_good_is_forgotten(tmp_path: Path, volume: Path) -> None:
    write(tmp_path, "a.py")
    (tmp_path / "team").symlink_to(volume)
    lister = Lister()
    lister.list(tmp_path)
    (tmp_path / "team").unlink()
    assert lister.list(tmp_path).complete

    (tmp_path / "team").mkdir()
    assert lister.list(tmp_path) == Listing(("a.py",), complete=True)


def test_a_volume_in_one_that_is_away_is_not_forgotten(tmp_path: Path, volume: Path) -> None:
    """Nothing is known of what lies in it."""
    write(tmp_path, "a.py")
    (tmp_path / "inner").mkdir()
    (volume / "sub").symlink_to(tmp_path / "inner")
    team = tmp_path / "dags" / "team"
    write(tmp_path, "dags/a.py")
    team.symlink_to(volume)
    lister = Lister()
    lister.list(tmp_path / "dags")
    team.unlink()
    team.mkdir()
    assert not lister.list(tmp_path / "dags").complete

    team.rmdir()
    team.symlink_to(volume)
    (volume / "sub").unlink()
    (volume / "sub").mkdir()
    assert not lister.list(tmp_path / "dags").complete
