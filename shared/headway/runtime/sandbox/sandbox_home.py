"""Where the nannies of sandboxed children live: a namespace, a scratch folder, the sandbox."""

import os
import struct
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from headway.runtime.processes.tree import Kill, kill_namespace, kill_tree
from headway.runtime.sandbox import Layer, Sandbox, namespaces, scratch
from headway.runtime.sandbox.confinement import Confinement, prepare, settle

T = TypeVar("T")

_PID: Final = struct.Struct("!q")
_MOST_PREPARED: Final = 8


@dataclass(frozen=True, slots=True)
class SandboxHome:
    """What a forker gives to its nannies: the layers in force, a folder for scratch folders."""

    layers: frozenset[Layer]
    folder: Path
    own_users: bool = False
    """Whether the nanny is in a user namespace, so that the kernel counts its processes alone."""


class NannySandbox:
    """A nanny's own part: where its children write, and the sandboxes that it has prepared."""

    def __init__(self, home: SandboxHome, folder: Path) -> None:
        self._home = home
        self._folder = folder
        self._prepared: dict[Sandbox, Confinement] = {}

    @property
    def kill(self) -> Kill:
        """By what all that is left of a child is killed."""
        return kill_namespace if Layer.NAMESPACE in self._home.layers else kill_tree

    def settle(self) -> None:
        """Make this process, a new nanny, safe from its children."""
        settle(self._home.layers)
        self._folder.mkdir(mode=0o700)

    def confinement(self, sandbox: Sandbox) -> Confinement:
        """Return the sandbox for the next child, made ready."""
        found = self._prepared.get(sandbox)
        if found is None or not found.holds():
            self._forget(sandbox)
            layers, own = self._home.layers, self._home.own_users
            found = prepare(sandbox, layers, self._folder, own_users=own)
            self._prepared[sandbox] = found
        found.claim_scratch()
        return found

    def _forget(self, sandbox: Sandbox) -> None:
        """Let go of what was prepared for this sandbox, and of all if it is too much."""
        gone = list(self._prepared) if len(self._prepared) >= _MOST_PREPARED else [sandbox]
        for each in gone:
            if each in self._prepared:
                self._prepared.pop(each).close()

    def tidy(self) -> None:
        """Remove what a child has left."""
        scratch.empty(self._folder)

    def leave(self, *, orphaned: bool) -> None:
        """Remove the folder; the last of the nannies that a forker orphans removes its own, too."""
        scratch.remove(self._folder)
        if orphaned:
            with suppress(OSError):
                self._folder.parent.rmdir()


def make_folder() -> Path:
    """Make the folder for the scratch folders of a forker's nannies; any user may pass it."""
    tempfile.tempdir = None
    folder = scratch.make(Path(tempfile.gettempdir()))
    with suppress(PermissionError):  # in a sandbox, where all below are of one account
        folder.chmod(0o755)
    return folder


def fork_nanny(home: SandboxHome, run: Callable[[SandboxHome], NoReturn]) -> int:
    """Fork a process that calls `run`, the first of a new PID namespace if that is in force.

    Only children of a process that has asked for it are born in the namespace, so a
    process in between asks, forks, tells the id and ends.  The caller, a subreaper,
    inherits the nanny.
    """
    if Layer.NAMESPACE not in home.layers:
        pid = os.fork()
        if pid == 0:
            run(home)
        return pid
    return fork_first(namespaces.enter, lambda own_users: run(replace(home, own_users=own_users)))


def fork_first(enter: Callable[[], T], run: Callable[[T], NoReturn]) -> int:
    """Fork the first process of a namespace that `enter` makes, and have it call `run`."""
    reader, writer = os.pipe()
    between = os.fork()
    if between == 0:
        _beget(enter, run, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        told = answer.read(_PID.size)
    os.waitpid(between, 0)
    if len(told) < _PID.size:
        raise OSError(0, "No namespace could be made")
    return int(_PID.unpack(told)[0])


def _beget(enter: Callable[[], T], run: Callable[[T], NoReturn], writer: int) -> NoReturn:
    try:
        entered = enter()
        pid = os.fork()
        if pid == 0:
            os.close(writer)
            run(entered)
        os.write(writer, _PID.pack(pid))
    finally:
        os._exit(0)
