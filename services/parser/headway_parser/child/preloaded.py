"""What a process has imported before it was forked to parse a file, and whether that is fit for it.

A bundle's fork server (`bundle_forker`) keeps this; its children ask.  In any other process nothing
is preloaded, and all is fit.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from headway_parser.child import search_path
from headway_parser.child.imports import INSTALLED
from headway_parser.imported_names import imported_names

Stamps = dict[str, tuple[int, int] | None]
"""When a file, or a folder's list of entries, was changed last, and its size; None if not there."""


class UnfitError(Exception):
    """What was preloaded is of no use for a file, or for none any more if it is `outdated`."""

    def __init__(self, why: str, *, outdated: bool = False) -> None:
        super().__init__(why)
        self.outdated = outdated


@dataclass(frozen=True, slots=True)
class Preloaded:
    """The files of preloaded modules with the folders of `sys.path`, and names at the top.

    `tops` are the first parts of the names of modules that were imported, or looked for in vain.
    """

    stamps: Stamps
    tops: frozenset[str]


LARGE: Final = {"ObjectStoragePath": "headway.sdk.storage.path"}
"""Names of the SDK whose modules import more than all others, and that few DAG files use."""

_kept: list[Preloaded] = []
_begun: Final[set[str]] = set()


def begin_with(names: Iterable[str]) -> None:
    """Take note of the modules that every child has: no file makes a difference to them."""
    _begun.update(names)


def keep(preloaded: Preloaded) -> None:
    """Take note of what was preloaded here, for this process and its forks."""
    _kept[:] = [preloaded]


def begin() -> None:
    """Begin to parse a file; UnfitError when what was preloaded has changed since.

    Random numbers of NumPy begin anew, as Python's own do in a process that was forked.  Folders
    that the file puts on `sys.path` are noted.
    """
    for preloaded in _kept:
        for path, seen in preloaded.stamps.items():
            if _stamp(path) != seen:
                raise UnfitError(f"{path} has changed since it was imported.", outdated=True)
        if (random := sys.modules.get("numpy.random")) is not None:
            random.seed()
        search_path.watch()


def check(root: Path) -> None:
    """UnfitError when there is a module that would have been imported instead.

    The folders of `sys.path` that lie in the bundle come before those of packages.  The same is
    assumed of all that the file has put there, also if it has taken them away again.
    """
    for preloaded in _kept:
        own = [entry for entry in sys.path if f"{entry}/".startswith(f"{root}/")]
        added = [entry for entry in search_path.seen() if entry not in preloaded.stamps]
        for folder in dict.fromkeys([*own, *added]):
            for entry in _entries(folder):
                stem, _, kind = entry.partition(".")
                if stem in preloaded.tops and (kind in ("", "py") or kind.endswith("so")):
                    raise UnfitError(f"{folder}/{entry} has the name of a preloaded module.")


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")  # noqa: PTH208 - names are wanted
    except NotADirectoryError:
        raise UnfitError(f"{folder} is on sys.path, and no folder.") from None
    except OSError:
        return []  # nothing can be imported from there


def stamps_of(modules: Iterable[ModuleType]) -> Stamps:
    """Return the present stamps of the files of modules, and of the folders of `sys.path`."""
    paths = [path for module in modules if (path := file_of(module)) is not None]
    return {path: _stamp(path) for path in dict.fromkeys([*filter(None, sys.path), *paths])}


def file_of(module: ModuleType) -> str | None:
    """Return the file that a module was imported from; None if there is none."""
    # Not by getattr: a module that makes its names when they are asked for may raise anything.
    spec = getattr(module, "__dict__", {}).get("__spec__")
    return spec.origin if spec is not None and getattr(spec, "has_location", False) else None


def installed_imports(root: Path, sources: Iterable[bytes]) -> list[str]:
    """Return the modules of installed packages that sources import, and that are imported.

    Those that every child has are left out, and packages that lie in the bundle.  A module of the
    SDK is among them if others of packages come with it.
    """
    wanted = {name for source in sources for name in imported_names(source)} - _begun
    found = {name for name in wanted if _is_installed(sys.modules.get(name), root)}
    return sorted(found | (set(LARGE.values()) & sys.modules.keys()) - _begun)


def _is_installed(module: ModuleType | None, root: Path) -> bool:
    path = None if module is None else file_of(module)
    if path is None or path.startswith(f"{root}/"):
        return False
    return any(folder in path for folder in INSTALLED)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a thousand files for each parse
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
