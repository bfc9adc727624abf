"""The files of a DAG version in the process that runs it: bytes by path, checked by their hash.

No file on disk is trusted: an attempt of the same account could write to it.  Modules are run
from the bytes in this process's memory.  Files that code opens by their path are written to a
folder of this process alone, after the check, and only when code may ask for them.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from json import dumps
from pathlib import Path, PurePosixPath
from posixpath import dirname, normpath, relpath
from threading import RLock
from typing import Final, Protocol
from zipfile import ZipFile

from headway.domain.errors import DagError
from headway.runtime.daemon.seam import nothing

ASKS_FOR_PLACE: Final = re.compile(
    rb"__file__|__path__|__spec__|__loader__|co_filename|fileloc|getfile|getsourcefile"
    rb"|sys\.path|\.file\b|pkgutil|multiprocessing|ProcessPool|joblib"
)
"""What the source of a module holds that asks where its files are, or starts processes that do."""

NAMES_PROGRAMS: Final = re.compile(rb"\.py['\"]")
"""What the source of a module holds that may look for a Python file without opening it."""

_MISSING_FILE: Final = "FileNotFoundError: "
_MISSING_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_BY_NAME: Final = re.compile(rb"\bimport_module\b|\b__import__\b|\brun_path\b|spec_from_file")
_PROGRAM: Final = ".py"
_NOT_NORMAL: Final = re.compile(r"//|/\.\.?/")


class Supply(Protocol):
    """Where a version's files come from."""

    def content(self, content_hash: str) -> bytes:
        """Return the content of that hash; the caller need not check it."""

    def others(self) -> Mapping[str, str]:
        """Return the bundle's files as of the version's commit or scan, by path."""

    def prepare(self, hashes: Collection[str]) -> None:
        """Have contents at hand, each of which is asked for next."""


@dataclass(slots=True)
class BundleCode:
    """The files of a version: `files` by path and hash, and what its bundle had besides.

    `root` is the folder in which they seem to be.  Nothing is there before `place`.
    `before_use` is called between the check of a content and its use.  `opened` are the files
    besides the version's own that Python code has opened.
    """

    root: Path
    files: Mapping[str, str]
    supply: Supply
    before_use: Callable[[], None] = nothing
    opened: set[str] = field(default_factory=set, init=False)
    _prefix: str = field(init=False)
    _others: Mapping[str, str] | None = field(default=None, init=False)
    _packages: dict[str, ZipFile] = field(default_factory=dict, init=False)
    _names: dict[bool, frozenset[str]] = field(default_factory=dict, init=False)
    _placed: set[str] = field(default_factory=set, init=False)
    _has_root: bool = field(default=False, init=False)
    _placing: bool = field(default=False, init=False)
    _lock: RLock = field(default_factory=RLock, init=False)

    def __post_init__(self) -> None:
        self._prefix = f"{self.root}/"

    @property
    def others(self) -> Mapping[str, str]:
        """What a task may read besides the version's own files; asked for once."""
        if self._others is None:
            self._others = self.supply.others()
        return self._others

    def inside(self, path: object) -> str | None:
        """Return a path below `root` as one of the bundle, "" for `root`; None for any other."""
        if isinstance(path, os.PathLike):
            path = os.fspath(path)
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or not path.startswith("/"):
            return None
        root = self._prefix[:-1]
        if not path.startswith(root) and _NOT_NORMAL.search(path) is None:
            return None
        found = normpath(path)
        if found == root:
            return ""
        return found[len(self._prefix) :] if found.startswith(self._prefix) else None

    def has(self, path: str) -> bool:
        """Whether the version, or else its bundle, has that file or folder."""
        return path in self.names(others=False) or path in self.names(others=True)

    def is_file(self, path: str) -> bool:
        """Whether that path of the version or its bundle is a file, and no folder."""
        return path in self.files or path in self.others or self._entry(path) is not None

    def read(self, path: str) -> bytes:
        """Return a file's content, checked; FileNotFoundError if there is no such file."""
        entry = self._entry(path)
        if entry is not None:
            return entry[0].read(entry[1])
        found = self.files.get(path) or self.others.get(path)
        if found is None:
            raise FileNotFoundError(2, "No such file in this version", str(self.root / path))
        content = self.supply.content(found)
        self.before_use()
        return content

    def open_package(self, path: str) -> None:
        """Let the entries of a zip file count as files in a folder of its name."""
        if path not in self._packages:
            self._packages[path] = ZipFile(BytesIO(self.read(path)))
            self._names.clear()

    def names(self, *, others: bool) -> frozenset[str]:
        """Return the paths of the version's own files, or of those besides, with their folders."""
        if others not in self._names:
            found = set(self.others if others else self.files)
            if not others:
                for path, package in self._packages.items():
                    found |= {f"{path}/{name.rstrip('/')}" for name in package.namelist()}
            folders = {str(parent) for path in found for parent in PurePosixPath(path).parents}
            self._names[others] = frozenset(found | folders)
        return self._names[others]

    def need(self, path: str) -> None:
        """Have a file on disk that is about to be opened, or a folder that is listed.

        A program may be run next, and look for any other file.
        """
        with self._lock:
            if self._placing:
                return
            if path not in self.files and path in self.others:
                self.opened.add(path)
            if path in self._placed:
                return
            is_data = path in self.files or not path.endswith(_PROGRAM)
            if is_data and (path in self.files or path in self.others):
                self._put([path])
            else:
                self.place(everything=True)

    def place(self, *, everything: bool = False) -> None:
        """Write the files to the folder, whoever else may have to read them.

        Programs that are not the version's own are left out, unless it is to be `everything`:
        a flat folder has hundreds of them, and modules need no file.
        """
        with self._lock:  # a thread waits for another one's files, and not for its own
            if not self._placing:
                self._put(
                    path
                    for path in {**self.others, **self.files}
                    if everything or path in self.files or not path.endswith(_PROGRAM)
                )

    def _put(self, paths: Iterable[str]) -> None:
        """Write files that are not there yet; what this opens itself is not asked for."""
        self._placing = True
        try:
            self._make_folders()
            wanted = [path for path in paths if path not in self._placed]
            self.supply.prepare({self.files.get(path) or self.others[path] for path in wanted})
            for path in wanted:
                self._write(path)
        finally:
            self._placing = False

    def _make_folders(self) -> None:
        """Make all folders: code may ask whether they are there, which no hook tells of."""
        if self._has_root:
            return
        self.root.mkdir(parents=True)  # an error if somebody else has made it before
        self._has_root = True
        for folder in {path.rpartition("/")[0] for path in (*self.others, *self.files)}:
            (self.root / folder).mkdir(parents=True, exist_ok=True)

    def advice(self, error: str, dag_file: str) -> str | None:
        """Return what to do about an error that is due to a file that the version lacks."""
        missing = self._missing(error)
        if missing is None:
            return None
        module = _MISSING_MODULE.search(error)
        if module is not None and not self._may_lack(module[1]):
            return (
                f"The module {module[1]!r} is not installed here, and the bundle had no such file "
                f"when this version was made. {_install(module[1])} If it is to be of the bundle, "
                "add its file to the bundle."
            )
        return (
            f"{missing} is neither part of this DAG version nor among the files of its bundle "
            f"that were stored with it. {_install(module[1]) + ' ' if module else ''}If it is in "
            "the bundle, .headwayignore, a limit or its permissions leave it out. "
            f"Add this line to {dag_file}, and it is part of the version: "
            f"{declaration([missing], dag_file)}{_for_package(missing, dag_file)}"
        )

    def _missing(self, error: str) -> str | None:
        module = _MISSING_MODULE.search(error)
        if module is not None and module[1].partition(".")[0] != "airflow":
            path = f"{module[1].replace('.', '/')}.py"
            return None if self.has(path) else path
        if _MISSING_FILE in error:
            found = re.search(rf"'({re.escape(self._prefix)}[^']*)'", error)
            path = "" if found is None else self.inside(found[1]) or ""
            return path if path and not self.has(path) else None
        return None

    def _may_lack(self, module: str) -> bool:
        """Tell whether the bundle may have a module that the version lacks.

        The parser finds each module of the bundle that a source of the version imports, but not
        by a name that is built at run time, nor by a source of the bundle that is none of these.
        """
        top = re.escape(module.partition(".")[0].encode())
        imports = re.compile(rb"^[^#\n]*\b(?:from|import)\s[^#\n]*\b%s\b" % top, re.MULTILINE)
        own = [self.read(path) for path in self.files if path.endswith(_PROGRAM)]
        return not any(map(imports.search, own)) and any(map(_BY_NAME.search, own))

    def _entry(self, path: str) -> tuple[ZipFile, str] | None:
        for name, package in self._packages.items():
            entry = path.removeprefix(f"{name}/")
            if entry != path and entry in package.NameToInfo:
                return package, entry
        return None

    def _write(self, path: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)  # the task may have removed it
        content = self.read(path)
        with suppress(FileExistsError):  # the task itself has written it
            opened = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                with os.fdopen(opened, "wb") as file:
                    file.write(content)
            except BaseException:
                target.unlink(missing_ok=True)  # nobody may take a part for the whole
                raise
        self._placed.add(path)


def _install(module: str) -> str:
    name = module.partition(".")[0]
    return (
        "If it is of a package, install the package where workers run, such as with "
        f"`pip install {name}`."
    )


def _for_package(path: str, dag_file: str) -> str:
    """Return what the line is if a module is a package, which nobody can know."""
    if not path.endswith(_PROGRAM):
        return ""
    folder = relpath(path.removesuffix(_PROGRAM), dirname(dag_file) or ".")
    return f", or [{dumps(f'{folder}/**')}] for a package"


def declaration(paths: Iterable[str], dag_file: str) -> str:
    """Return the line that makes files of a bundle part of a DAG file's versions."""
    named = (relpath(path, dirname(dag_file) or ".") for path in paths)
    return f"headway_files = [{', '.join(dumps(path) for path in named)}]"


def check_path(path: str) -> str:
    """Return a path of a manifest; DagError if it is not one below a bundle."""
    parts = path.split("/")
    if "\0" in path or path.startswith("/") or not set(parts).isdisjoint(("", ".", "..")):
        raise DagError(f"A code manifest names {path!r}, which is not in its bundle.")
    return path
