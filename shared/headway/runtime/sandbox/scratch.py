"""The folder that a sandboxed child may write in: empty at its start, emptied at its end."""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def make(parent: Path) -> Path:
    """Make a folder in `parent` that only this user can use."""
    folder = parent / f"headway-sandbox-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    return folder


def empty(folder: Path) -> None:
    """Remove all that is in the folder, however deep; nobody may be using it any more.

    Folders in folders are moved up first: a tree may be deeper than any path is long.
    """
    _open_up(folder)
    moved = 0
    while found := list(os.scandir(folder)):
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108
                continue
            for below in _folders_in(entry.path):
                moved += 1
                os.rename(below, folder / f"{secrets.token_hex(8)}-{moved}")  # noqa: PTH104
            os.rmdir(entry.path)  # noqa: PTH106


def remove(folder: Path) -> None:
    """Remove the folder, if it is there, and all that is in it."""
    with suppress(FileNotFoundError):
        empty(folder)
        folder.rmdir()


def _folders_in(folder: str) -> Iterator[str]:
    """Remove the files of a folder, and yield the folders in it."""
    _open_up(folder)
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            _open_up(entry.path)  # to move a folder is to write in it
            yield entry.path
        else:
            os.unlink(entry.path)  # noqa: PTH108


def _open_up(folder: str | Path) -> None:
    """Let the owner into a folder, who may have shut itself out.

    A process that is in a sandbox itself may change no modes: what it then cannot remove is an
    error of what comes next.
    """
    with suppress(PermissionError):
        os.chmod(folder, 0o700)  # noqa: PTH101 - it is asked for each child
