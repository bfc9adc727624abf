"""Import the modules of a DAG version from memory, and put files where code looks for them."""

import fcntl
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    ExtensionFileLoader,
    ModuleSpec,
    SourceFileLoader,
)
from importlib.readers import FileReader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Final

from headway.sdk.bundle.bundle_code import ASKS_FOR_PLACE, NAMES_PROGRAMS, BundleCode
from headway.sdk.bundle.packages import SUFFIX

_PATHS: Final = frozenset({"open", "os.listdir", "os.scandir", "os.chdir", "sqlite3.connect"})
"""Events of Python's audit hooks whose first argument is a path."""

_PROGRAMS: Final = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"})
"""Those that start a program, which may be told of a path."""

_current: list[BundleCode] = []


class BundleModule(SourceFileLoader):
    """Load a module from checked bytes; no bytecode is read or written."""

    def __init__(self, code: BundleCode, fullname: str, path: str) -> None:
        super().__init__(fullname, str(code.root / path))
        self.code = code

    def get_data(self, path: str) -> bytes:
        """Return the content of a file of the version, or any other file."""
        inside = self.code.inside(path)
        return super().get_data(path) if inside is None else self.code.read(inside)

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        """Compile the source; a module that asks where its files are finds them there."""
        source = self.get_data(self.path)
        if ASKS_FOR_PLACE.search(source):
            self.code.place(everything=NAMES_PROGRAMS.search(source) is not None)
        return self.source_to_code(source, self.path)

    def get_resource_reader(self, name: str | None = None) -> FileReader:
        """Put the files in place that importlib.resources looks for."""
        self.code.place(everything=True)
        return super().get_resource_reader(name)


class BundleFolder:
    """Find the version's own modules in one folder of the bundle; an entry of `sys.path`."""

    def __init__(self, code: BundleCode, folder: str) -> None:
        self.code = code
        self.folder = folder

    def find_spec(self, fullname: str, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the module is."""
        return _find(self.code, self.folder, fullname, others=False)

    def invalidate_caches(self) -> None:
        """Do nothing: a version never changes."""

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Yield the modules in the folder, and whether each is a package, for pkgutil."""
        begin = f"{self.folder}/" if self.folder else ""
        found: dict[str, bool] = {}
        for path in (*self.code.names(others=False), *self.code.names(others=True)):
            name, _, rest = path.removeprefix(begin).partition("/")
            if path.startswith(begin) and rest == "__init__.py":
                found[name] = True
            elif path.startswith(begin) and not rest and name.endswith(".py"):
                found.setdefault(name.removesuffix(".py"), False)
        found.pop("__init__", None)
        yield from ((prefix + name, found[name]) for name in sorted(found))


class Others:
    """Find modules that the bundle has besides the version's own, when nothing else has them."""

    def __init__(self, code: BundleCode) -> None:
        self.code = code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module is."""
        if path is None and fullname in sys.stdlib_module_names:
            return None
        for entry in sys.path if path is None else path:
            folder = self.code.inside(entry)
            if folder is not None:
                found = _find(self.code, folder, fullname, others=True)
                if found is not None:
                    return found
        return None


@contextmanager
def importing(code: BundleCode) -> Iterator[None]:
    """Have this process import the version's modules, and open its files, within the context."""
    known: set[str] = set()

    def hook(entry: str) -> BundleFolder:
        folder = code.inside(entry)
        if folder is None:
            raise ImportError(f"{entry} is none of the bundle's folders")
        known.add(entry)  # Python keeps what is returned
        if folder in code.names(others=False) and folder not in code.files:
            return BundleFolder(code, folder)
        if folder.endswith(SUFFIX) and code.has(folder):
            code.open_package(folder)
        elif folder and code.is_file(folder):
            raise ImportError(f"{entry} is a file")
        return BundleFolder(code, folder)

    _install_watch()
    others = Others(code)
    sys.path_hooks.insert(0, hook)
    sys.meta_path.append(others)
    _current.append(code)
    try:
        yield
    finally:
        _current.remove(code)
        sys.meta_path.remove(others)
        sys.path_hooks.remove(hook)
        for entry in known:
            sys.path_importer_cache.pop(entry, None)


def is_of_bundle(spec: ModuleSpec) -> bool:
    """Whether a module is of the version that this process runs, or of its bundle besides."""
    if isinstance(spec.loader, BundleModule):
        return True
    folders = spec.submodule_search_locations
    if spec.origin is not None or not folders:
        return False
    return all(any(code.inside(folder) is not None for code in _current) for folder in folders)


def _find(code: BundleCode, folder: str, fullname: str, *, others: bool) -> ModuleSpec | None:
    name = fullname.rpartition(".")[2]
    base = f"{folder}/{name}" if folder else name
    names = code.names(others=others)
    if f"{base}/__init__.py" in names:
        return _module(code, fullname, f"{base}/__init__.py", [str(code.root / base)])
    for suffix in EXTENSION_SUFFIXES:
        if f"{base}{suffix}" in names:
            return _extension(code, fullname, f"{base}{suffix}")
    if f"{base}.py" in names:
        return _module(code, fullname, f"{base}.py", None)
    if base in names and not code.is_file(base):
        found = ModuleSpec(fullname, None, is_package=True)
        found.submodule_search_locations = [str(code.root / base)]
        return found
    return None


def _module(
    code: BundleCode, fullname: str, path: str, folders: list[str] | None
) -> ModuleSpec | None:
    return spec_from_file_location(
        fullname,
        str(code.root / path),
        loader=BundleModule(code, fullname, path),
        submodule_search_locations=folders,
    )


def _extension(code: BundleCode, fullname: str, path: str) -> ModuleSpec | None:
    """Load a compiled module from a file in memory that nobody can write to any more."""
    if not hasattr(os, "memfd_create"):  # macOS
        code.need(path)
        return spec_from_file_location(fullname, str(code.root / path))
    place = sealed(path.rpartition("/")[2], code.read(path))
    return spec_from_file_location(fullname, place, loader=ExtensionFileLoader(fullname, place))


def sealed(name: str, content: bytes) -> str:
    """Return the path, in this process, of a file in memory; it stays open, and unchanged."""
    opened = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(os.dup(opened), "wb") as file:
        file.write(content)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(opened, fcntl.F_ADD_SEALS, seals)
    return f"/proc/self/fd/{opened}"


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """Put files in place before they are opened, listed, or told to another program."""
    if not _current:
        return
    if event in _PATHS:
        code = _current[-1]
        inside = code.inside(arguments[0]) if arguments else None
        if inside is not None and not _writes(event, arguments):
            code.need(inside)
    elif event in _PROGRAMS and any(
        _names(str(_current[-1].root), argument) for argument in arguments
    ):
        _current[-1].place(everything=True)


def _writes(event: str, arguments: tuple[object, ...]) -> bool:
    mode = arguments[1] if event == "open" and len(arguments) > 1 else None
    return isinstance(mode, str) and not set(mode).isdisjoint("wxa")


def _names(root: str, argument: object) -> bool:
    with suppress(Exception):  # an argument may be anything of the user's
        return root in repr(argument)
    return False


@cache
def _install_watch() -> None:
    """Add the hook, once: it stays as long as the process, and each event costs a little."""
    sys.addaudithook(_watch)
