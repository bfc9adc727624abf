"""What becomes of an attempt's folder."""

import errno
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn
from unittest.mock import MagicMock

import pytest

from headway.runtime.forker import Child, ChildLimits, Exit, ForkerError
from headway.runtime.processes.frames import send_frame
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.scratch import ScratchFolders, remove_scratch


def test_an_empty_one_goes(tmp_path: Path) -> None:
    folder = tmp_path / "1-1"
    folder.mkdir(mode=0o000)

    remove_scratch(folder)

    assert not folder.exists()


def test_one_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "1-1"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "file").write_text("left")

    remove_scratch(folder)

    assert not folder.exists()


@pytest.mark.parametrize("there", [True, False])
def test_where_the_task_has_removed_it_nothing_else_goes(tmp_path: Path, there: bool) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    if there:
        (tmp_path / "1-1").symlink_to(precious)

    remove_scratch(tmp_path / "1-1")

    assert (precious / "file").read_text() == "kept"


@pytest.mark.parametrize("fault", ["pipe", "order", "forker"])
def test_an_attempt_that_cannot_be_started_leaves_no_folder_and_no_pipe(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forker, program = MagicMock(), MagicMock(target="a:b", environment={})
    program.to_frame.return_value = {}
    scratch = ScratchFolders(tmp_path).take("1-1")
    (scratch.path / "file").touch()
    earlier = open_pipes()
    if fault == "pipe":
        pipes = iter([os.pipe()])
        monkeypatch.setattr(os, "pipe", lambda: next(pipes, None) or refuse())
    elif fault == "order":
        program.to_frame.side_effect = OSError("The order cannot be made.")
    else:
        forker.spawn.side_effect = ForkerError("The fork server has died.")

    with pytest.raises((ForkerError, OSError)):
        Execution.start(None, program, forker, MagicMock(), scratch, ChildLimits())

    assert list(tmp_path.iterdir()) == []
    assert open_pipes() <= earlier, "what earlier tests have left may close meanwhile"


def refuse() -> NoReturn:
    raise OSError(errno.EMFILE, "Too many open files")


def open_pipes() -> set[str]:
    """Each pipe that this process has open, by its number."""
    links = {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}
    return {link for link in links if link.startswith("pipe:")}


@pytest.mark.skipif(sys.platform != "linux", reason="no folder is used again")
def test_one_that_stayed_empty_is_used_again(tmp_path: Path) -> None:
    folders = ScratchFolders(tmp_path)
    first, other = folders.take("1-1"), folders.take("2-1")
    made = first.path.stat().st_ino

    first.leave(again=True)
    assert names(tmp_path) == ["2-1", "idle-1"]
    again = folders.take("3-1")

    assert (again.path, again.path.stat().st_ino) == (tmp_path / "3-1", made)
    assert names(tmp_path) == ["2-1", "3-1"]
    again.leave(again=True)
    other.leave(again=True)
    assert names(tmp_path) == ["idle-2", "idle-3"]


def test_one_of_which_a_process_may_be_left_is_not_used_again(tmp_path: Path) -> None:
    folders = ScratchFolders(tmp_path)
    first = folders.take("1-1")

    first.leave(again=False)

    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="no folder is used again")
@pytest.mark.parametrize(
    ("told", "left"),
    [
        (None, []),
        (Exit(lost="The forker and the child's nanny died."), []),
        (Exit(code=0), ["idle-1"]),
        (Exit(signal=9), ["idle-1"]),
    ],
)
def test_only_that_of_an_attempt_whose_end_is_certain_is_used_again(
    tmp_path: Path, told: Exit | None, left: list[str]
) -> None:
    channel, _ = socket.socketpair()
    reins, nanny = socket.socketpair()
    child = Child(channel, reins, socket.socket.close)
    if told is not None:
        send_frame(nanny, {"exit": told.to_frame()})
        assert child.poll() == told
    scratch = ScratchFolders(tmp_path).take("1-1")

    Execution(None, child, MagicMock(), {}, scratch).shut()

    assert names(tmp_path) == left


def fill(folder: Path) -> None:
    (folder / ".hidden").touch()


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def close_to_all(folder: Path) -> None:
    folder.chmod(0o000)


def mark(folder: Path) -> None:
    os.setxattr(folder, "user.mark", b"2")


def replace_by_a_link(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    folder.rmdir()
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)


def replace_by_a_file(folder: Path) -> None:
    folder.rmdir()
    folder.touch()


@pytest.mark.skipif(sys.platform != "linux", reason="no folder is used again")
@pytest.mark.parametrize(
    "change", [fill, open_to_all, close_to_all, mark, replace_by_a_link, replace_by_a_file]
)
def test_one_that_is_not_as_it_was_made_is_not_used_again(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folders = ScratchFolders(tmp_path)
    first = folders.take("1-1")
    (made, mode) = first.path.stat().st_ino, first.path.stat().st_mode
    held = os.open(first.path, os.O_RDONLY)  # so that no other folder gets its number
    change(first.path)

    first.leave(again=True)
    second = folders.take("2-1")

    assert second.path.lstat().st_mode == mode
    assert second.path.lstat().st_ino != made
    assert not any(name.startswith("idle") for name in names(tmp_path))
    os.close(held)


@pytest.mark.skipif(sys.platform != "linux", reason="no folder is used again")
def test_attributes_that_every_new_folder_has_are_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with SELinux, or with a default ACL on the folder above."""
    monkeypatch.setattr(os, "listxattr", lambda *_, **__: ["security.selinux"])
    monkeypatch.setattr(os, "getxattr", lambda *_, **__: b"label")
    folders = ScratchFolders(tmp_path)
    folders.take("1-1").leave(again=True)
    assert names(tmp_path) == ["idle-1"]

    monkeypatch.setattr(os, "getxattr", lambda *_, **__: b"another")
    folders.take("2-1").leave(again=True)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["2-1", "callbacks/2-1"])
def test_an_idle_one_that_somebody_has_removed_is_made_anew(tmp_path: Path, name: str) -> None:
    folders = ScratchFolders(tmp_path)
    folders.take("1-1").leave(again=True)
    remove_scratch(tmp_path / "idle-1")

    assert list(folders.take(name).path.iterdir()) == []


def test_an_idle_one_that_finds_no_folder_above_is_not_left(tmp_path: Path) -> None:
    folders = ScratchFolders(tmp_path)
    folders.take("1-1").leave(again=True)

    assert folders.take("callbacks/2-1").path.is_dir()
    assert names(tmp_path) == ["callbacks"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
