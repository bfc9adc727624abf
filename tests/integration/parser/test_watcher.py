import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from headway_parser.discover.watcher import FileWatcher

PATIENCE = 10.0


@pytest.fixture
def rung() -> Event:
    return Event()


@pytest.fixture
def watcher(rung: Event) -> Iterator[FileWatcher]:
    made = FileWatcher(rung.set)
    yield made
    made.close()


def is_noticed(rung: Event, file: Path) -> bool:
    """Tell whether a change of the file rings, once the watcher had time to begin."""
    for _ in range(int(PATIENCE / 0.2)):
        rung.clear()
        file.write_text("x")
        if rung.wait(0.2):
            return True
    return False


def is_turned(rung: Event, link: Path, *targets: str) -> bool:
    """Tell whether it rings that a link leads elsewhere, once the watcher had time to begin."""
    for number in range(int(PATIENCE / 0.2)):
        settle(rung)
        new = link.with_name("new")
        new.symlink_to(targets[number % len(targets)])
        new.rename(link)
        if rung.wait(0.2):
            return True
    return False


def settle(rung: Event) -> None:
    """Wait until what has happened was told."""
    rung.clear()
    while rung.wait(0.3):
        rung.clear()


def test_a_change_rings(watcher: FileWatcher, rung: Event, tmp_path: Path) -> None:
    watcher.watch([tmp_path])

    assert is_noticed(rung, tmp_path / "a.py")


@pytest.mark.parametrize("between", [False, True])
def test_a_folder_that_is_made_anew_is_watched_again(
    watcher: FileWatcher, rung: Event, tmp_path: Path, between: bool
) -> None:
    """Its inode may have the number of the one that is gone."""
    folder = tmp_path / "dags"
    folder.mkdir()
    watcher.watch([folder])
    assert is_noticed(rung, folder / "a.py")
    shutil.rmtree(folder)
    if between:
        (tmp_path / "takes the number").mkdir()
    folder.mkdir()
    settle(rung)

    watcher.watch([folder])
    assert is_noticed(rung, folder / "a.py")


def test_a_folder_that_another_one_has_taken_the_place_of_is_watched(
    watcher: FileWatcher, rung: Event, tmp_path: Path
) -> None:
    folder = tmp_path / "dags"
    folder.mkdir()
    watcher.watch([folder])
    assert is_noticed(rung, folder / "a.py")
    folder.rename(tmp_path / "aside")
    folder.mkdir()
    settle(rung)

    watcher.watch([folder])
    assert is_noticed(rung, folder / "a.py")


def test_a_folder_that_is_gone_for_now_is_no_harm(
    watcher: FileWatcher, rung: Event, tmp_path: Path
) -> None:
    folder = tmp_path / "dags"
    watcher.watch([folder])
    folder.mkdir()
    watcher.watch([folder])

    assert is_noticed(rung, folder / "a.py")


@pytest.mark.parametrize("named", ["current", "current/dags", "srv"])
def test_a_link_that_is_turned_anywhere_on_the_way_to_the_folder_rings(
    watcher: FileWatcher, rung: Event, tmp_path: Path, named: str
) -> None:
    """As git-sync turns it: the folder that is named, srv, leads through it to dags."""
    for commit in ("one", "two"):
        (tmp_path / commit / "dags").mkdir(parents=True)
    (tmp_path / "srv").symlink_to("current/dags")
    (tmp_path / "current").symlink_to("one")
    watcher.watch([tmp_path / named])
    assert is_noticed(rung, tmp_path / "one/dags/a.py")

    assert is_turned(rung, tmp_path / "current", "two", "one")
    watcher.watch([tmp_path / named])
    assert is_noticed(rung, tmp_path / named / "a.py")


def test_what_lies_beside_a_link_does_not_ring(
    watcher: FileWatcher, rung: Event, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "dags").symlink_to("one")
    watcher.watch([tmp_path / "dags"])
    settle(rung)
    assert is_turned(rung, tmp_path / "dags", "two", "one")
    settle(rung)

    (tmp_path / "beside").write_text("x")
    assert not rung.wait(0.5)


@pytest.mark.parametrize("target", ["../dags/loop", "loop", "loop/deeper", "x" * 300])
def test_a_link_that_leads_nowhere_keeps_no_other_folder_from_being_watched(
    watcher: FileWatcher, rung: Event, tmp_path: Path, target: str
) -> None:
    for name in ("dags", "good"):
        (tmp_path / name).mkdir()
    loop = tmp_path / "dags" / "loop"
    loop.symlink_to(target)

    watcher.watch([loop, loop / "sub", tmp_path / "good"])
    assert is_noticed(rung, tmp_path / "good" / "a.py")
    assert is_turned(rung, loop, "../good", "../dags")
