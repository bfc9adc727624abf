"""Which files of a bundle its sources import, wherever in them: also in functions, `if`, `try`.

Sources are read, and not run.  Most import nothing of the bundle's, which a look at the text
tells; the others are parsed.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from os.path import isdir, isfile
from pathlib import Path
from posixpath import dirname
from typing import Final
from zipfile import BadZipFile, ZipFile

from headway.sdk.bundle.dynamic_imports import DynamicImport, arguments, beginning, package_of
from headway.sdk.bundle.packages import SUFFIX

_STATEMENT: Final = re.compile(rb"(?:^|[;:])[ \t]*(from|import)\b([^\n#;]*)", re.MULTILINE)
_BY_NAME: Final = re.compile(rb"\b(?:import_module|__import__)\b")
_BLOCKS: Final = ("body", "orelse", "finalbody")


@dataclass(slots=True)
class Imports:
    """The files below `root` that sources import from `folders`, in the order of `sys.path`.

    `paths` has files that are there, and those of modules that nobody has, which may come.
    `dynamic` has the imports by a name that is built at run time.  `known` are sources by path.
    """

    root: Path
    folders: Sequence[str]
    known: Mapping[str, bytes] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    dynamic: list[DynamicImport] = field(default_factory=list)
    _elsewhere: dict[str, bool] = field(default_factory=dict)
    _there: dict[str, bool] = field(default_factory=dict)
    _followed: set[str] = field(default_factory=set)

    def follow(self, path: str) -> None:
        """Add what the file imports, and what that imports."""
        waiting = [path]
        while waiting:
            current = waiting.pop()
            if current in self._followed:
                continue
            self._followed.add(current)
            before = set(self.paths)
            for source in self._sources(current):
                self.scan(current, source)
            waiting += (
                source for source in self.paths - before if source.endswith((".py", SUFFIX))
            )

    def _sources(self, path: str) -> Iterator[bytes]:
        try:
            if path.endswith(SUFFIX):
                with ZipFile(self.root / path) as package:
                    names = [name for name in package.namelist() if name.endswith(".py")]
                    own = {
                        name.partition("/")[0].removesuffix(".py") for name in package.namelist()
                    }
                    self._elsewhere.update(dict.fromkeys(own, True))
                    yield from (package.read(name) for name in names)
            else:
                yield self.known.get(path) or (self.root / path).read_bytes()
        except (OSError, BadZipFile, NotImplementedError, RuntimeError):
            return  # what is not there imports nothing, and a bad package is an error elsewhere

    def scan(self, path: str, source: bytes) -> None:
        """Add what a source imports, and not what that imports."""
        by_name = _BY_NAME.search(source) is not None
        if not (by_name or self._may_matter(source)):
            return
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return  # whoever imports it gets the error
        for node in _statements(tree.body):
            if isinstance(node, ast.Import):
                for name in node.names:
                    self._module(name.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                self._names(path, node)
        if by_name:
            self._calls(path, tree)

    def _may_matter(self, source: bytes) -> bool:
        for kind, rest in _STATEMENT.findall(source):
            if b"\\" in rest:
                return True
            for part in rest.split(b",") if kind == b"import" else [rest]:
                words = part.split()
                name = words[0].partition(b".")[0] if words else b""
                if not name or not self._is_elsewhere(name.decode("utf-8", "replace")):
                    return True
        return False

    def _is_elsewhere(self, name: str) -> bool:
        """Whether a module at the top is none of the bundle's, and is there."""
        if name not in self._elsewhere:
            self._elsewhere[name] = self._look_elsewhere(name)
        return self._elsewhere[name]

    def _look_elsewhere(self, name: str) -> bool:
        loaded = sys.modules.get(name)
        if loaded is not None:
            file = getattr(loaded, "__file__", None)
            return not (isinstance(file, str) and file.startswith(f"{self.root}/")) and (
                file is not None or name in sys.stdlib_module_names
            )
        if any(self._candidates(folder, name) for folder in self.folders):
            return False
        if name in sys.stdlib_module_names:
            return True
        places = [entry for entry in sys.path if not f"{entry}/".startswith(f"{self.root}/")]
        return PathFinder.find_spec(name, places) is not None

    def _names(self, path: str, node: ast.ImportFrom) -> None:
        parts = node.module.split(".") if node.module else []
        if node.level:
            folder = dirname(path)
            for _ in range(node.level - 1):
                folder = dirname(folder)
            found = self._below(folder, parts)
        else:
            found = self._module(parts)
        for name in node.names if found is not None else ():
            self._below(found or "", [name.name], optional=True)

    def _module(self, parts: Sequence[str]) -> str | None:
        """Add a module by its absolute name; return its folder if it is a package."""
        if self._is_elsewhere(parts[0]):
            return None
        for folder in self.folders:
            if self._candidates(folder, parts[0]):
                return self._below(folder, parts)
        for folder in self.folders:
            self._miss(folder, parts[0])
        return None

    def _below(self, folder: str, parts: Sequence[str], *, optional: bool = False) -> str | None:
        """Add the modules of a dotted name below a folder; return that of the last, a package."""
        for part in parts:
            found = self._candidates(folder, part)
            if not found:
                if not optional:
                    self._miss(folder, part)
                return None
            self.paths.update(path for path in found if path[-1] != "/")
            if not found[0].endswith(("/", "/__init__.py")):
                return None
            folder = _join(folder, part)
        return folder

    def _candidates(self, folder: str, name: str) -> list[str]:
        """Return the file of a module in a folder, or the folder itself with a "/"."""
        base = _join(folder, name)
        if not name.isidentifier():
            return []
        for path in (
            f"{base}/__init__.py",
            *(base + suffix for suffix in EXTENSION_SUFFIXES),
            f"{base}.py",
        ):
            if self._is_there(path):
                return [path]
        return [f"{base}/"] if self._is_there(f"{base}/") else []

    def _is_there(self, path: str) -> bool:
        if path not in self._there:
            place = f"{self.root}/{path}"
            is_there = isdir if path[-1] == "/" else isfile
            self._there[path] = is_there(place)
        return self._there[path]

    def _miss(self, folder: str, name: str) -> None:
        base = _join(folder, name)
        if name.isidentifier():
            self.paths |= {f"{base}.py", f"{base}/__init__.py"}

    def _calls(self, path: str, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node.func) in ("import_module", "__import__"):
                given = arguments(node)
                name, package = (_text(given, at) for at in (0, 1))
                if name is None or (name.startswith(".") and package is None):
                    self._note(path, node)
                else:
                    self._module(_resolved(name, package or "").split("."))

    def _note(self, path: str, call: ast.Call) -> None:
        """Note an import by a name of which only the beginning is known, if that."""
        given = arguments(call)
        begin, beside = beginning(given), package_of(given, path)
        if begin.startswith("."):
            package = _text(given, 1)
            if package is None:
                stem = begin[1:]
                known = beside is not None and not set(stem) & set("./")
                found = DynamicImport(path, call.lineno, anywhere=True)
                if known:
                    found = DynamicImport(path, call.lineno, (beside or "",), stem)
                self.dynamic.append(found)
                return
            begin = _resolved(begin, package)
        package, dot, stem = begin.rpartition(".")
        folders: Iterable[str] = self.folders
        if dot:
            parts = package.split(".")
            if self._is_elsewhere(parts[0]):
                return
            self._module(parts)
            folders = (_join(folder, "/".join(parts)) for folder in self.folders)
            folders = [folder for folder in folders if self._is_there(f"{folder}/")]
        self.dynamic.append(DynamicImport(path, call.lineno, tuple(folders), stem, not dot))


def _statements(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in block:
        yield node
        for name in _BLOCKS:
            below = getattr(node, name, None)
            if isinstance(below, list):
                yield from _statements(below)
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _statements(part.body)


def _resolved(name: str, package: str) -> str:
    """Return the absolute name of a module that `import_module` is given."""
    below = name.lstrip(".")
    levels = len(name) - len(below)
    if not levels:
        return name
    above = package.split(".")[: len(package.split(".")) - levels + 1]
    return ".".join([*above, below])


def _text(arguments: Sequence[ast.expr], at: int) -> str | None:
    found = arguments[at] if at < len(arguments) else None
    is_text = isinstance(found, ast.Constant) and isinstance(found.value, str)
    return found.value if is_text else None  # type: ignore[union-attr]


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
