"""A bundle's fork server: a child that imports what the bundle's files import, and forks parses.

It is confined as any child that parses a file, for the code of packages runs here.  Its children
are confined alike, and each has a nanny below this process.  It imports no module of the bundle.
"""

import gc
import importlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from itertools import chain
from socket import socket
from threading import Event
from types import ModuleType
from typing import Final

from headway.airflow_layer import finder, notes
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import nannies
from headway.runtime.processes import heap
from headway.runtime.processes.frames import send_frame
from headway.runtime.processes.linux import become_subreaper, name_process, native_threads
from headway.runtime.settings.layer_use import LayerUse
from headway_parser.child import preloaded
from headway_parser.child.imports import INSTALLED, STDLIB
from headway_parser.child.patches import KnownFunctions
from headway_parser.child.preloaded import Preloaded, Stamps, file_of, stamps_of

NAME: Final = "headway bundle"
"""What `ps -o comm` shows of this process, and of those below it."""

_OWN: Final = frozenset({"headway", "headway_parser"})
_LOOKS, _PAUSE = 50, 0.01
"""How often to look whether a thread has ended that was told to, and the pause between."""


class RefusedError(Exception):
    """A module cannot be preloaded; the text says why."""


def serve(argument: Mapping[str, object], channel: socket) -> None:
    """Import the `modules` of a bundle in `root`; then fork nannies until the parser is gone.

    It tells in frames what it is `importing`, and at the end what of its state is `imported`; or
    which module was `refused`, and `why`.
    """
    modules = argument["modules"]
    assert isinstance(modules, list)
    name_process(NAME)
    become_subreaper()  # to see what an import starts
    work = PackageImports(str(argument["root"]), LayerUse(str(argument["airflow_layer"])))
    for name in modules:
        send_frame(channel, {"importing": name})
        try:
            work.add(str(name))
        except RefusedError as error:
            send_frame(channel, {"refused": name, "why": str(error)})
            return
    work.keep()
    send_frame(channel, {"imported": len(work.new())})
    nannies.shield()
    nannies.attend(channel)


class AbsentTops:
    """A finder that comes after all others: it notes modules at the top that nobody found.

    A bundle may have such a module.
    """

    def __init__(self) -> None:
        self.tops: set[str] = set()

    def find_spec(
        self, fullname: str, path: Iterable[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Note the name; find nothing."""
        if path is None:
            self.tops.add(fullname)
        return None


def _environment() -> dict[str, str]:
    return dict(os.environ)  # noqa: TID251 - what the packages change


@dataclass(slots=True)
class PackageImports:
    """Imports that leave nothing behind but modules, in a process that does nothing else."""

    root: str
    layer: LayerUse = LayerUse.AUTO
    _before: Sequence[ModuleType] = field(default_factory=lambda: tuple(sys.modules.values()))
    _path: Sequence[str] = field(default_factory=lambda: tuple(sys.path))
    _files: Mapping[int, tuple[int, int]] = field(default_factory=lambda: dict(_open_files()))
    _environment: Mapping[str, str] = field(default_factory=_environment)
    _functions: KnownFunctions = field(default_factory=KnownFunctions)
    _absent: AbsentTops = field(default_factory=AbsentTops)
    _folders: Stamps = field(default_factory=lambda: stamps_of(()))
    """Of before the imports: what is installed meanwhile makes all this outdated."""

    def __post_init__(self) -> None:
        finder.install(self.layer)
        notes.forget()
        sys.meta_path.append(self._absent)
        self._functions.note()

    def add(self, name: str) -> None:
        """Import a module; RefusedError if that fails, or leaves more than modules behind."""
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - whatever a package raises
            why = f"its import failed: {type(error).__name__}: {error}"
            raise RefusedError(why) from None
        fault = next(chain(self._faults(), self._left()), None)
        if fault is not None:
            raise RefusedError(fault)
        self._functions.note()

    def new(self) -> dict[str, ModuleType]:
        """Return the modules that were imported here."""
        found, before = list(sys.modules.items()), set(map(id, self._before))
        return {name: module for name, module in found if id(module) not in before}

    def keep(self) -> None:
        """Have children find what was imported, and share its memory."""
        sys.meta_path.remove(self._absent)
        new = self.new()
        tops = {name.partition(".")[0] for name in new if name.partition(".")[0] not in _OWN}
        stamps = {**stamps_of(new.values()), **self._folders}
        preloaded.keep(Preloaded(stamps, frozenset(tops | self._absent.tops)))
        gc.collect()
        heap.fill()
        gc.freeze()

    def _faults(self) -> Iterator[str]:
        """Yield why a file would have other modules, functions or warnings than without this."""
        if told := notes.notes():
            yield f"its import has something to tell each file: {told[0]}"
        if tuple(sys.path) != self._path:
            yield "its import changes sys.path"
        if changed := self._environment.items() ^ _environment().items():
            yield f"its import changes os.environ ({min(changed)[0]})"
        if (name := next(self._functions.replaced(), None)) is not None:
            yield f"its import replaces {name}"
        for name, module in self.new().items():
            if not self._is_known(name, file_of(module)):
                yield f"it imports {name} of no installed package ({file_of(module)})"

    def _left(self) -> Iterator[str]:
        """Yield what there is besides modules."""
        if os.listdir(tempfile.gettempdir()):  # noqa: PTH208
            yield "its import leaves files in the temporary folder"
        if (files := dict(_open_files())) != self._files:
            yield f"its import leaves {len(files) - len(self._files)} files or sockets open"
        if _has_children():
            yield "its import leaves a process running"
        if len(threads := _threads_after_a_fork()) != 1:
            yield f"its import leaves threads running ({', '.join(threads)})"

    def _is_known(self, name: str, path: str | None) -> bool:
        if path is None or name.partition(".")[0] in _OWN:
            return True
        if path.startswith(f"{self.root}/"):
            return False
        return any(folder in path for folder in INSTALLED) or path.startswith(STDLIB)


def _threads_after_a_fork() -> list[str]:
    """Return the threads that a fork leaves: some libraries end theirs before each fork."""
    clock, never = SystemClock(), Event()
    _fork_once()
    for _ in range(_LOOKS):
        if len(threads := native_threads()) == 1:
            break
        clock.wait(never, _PAUSE)
    return threads


def _fork_once() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _open_files() -> Iterator[tuple[int, tuple[int, int]]]:
    for entry in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers
        try:
            found = os.fstat(int(entry))
        except OSError:  # the one that the listing itself used
            continue
        yield int(entry), (found.st_dev, found.st_ino)
