"""Import the modules of a bundle from their source, each time."""

import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from importlib import invalidate_caches
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    PathFinder,
)
from inspect import currentframe
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Final

from headway.sdk.harness.loading import SourceOnly
from headway_parser.contents import stamp_of

INSTALLED: Final = ("/site-packages/", "/dist-packages/")

STDLIB: Final = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))
"""Where Python's own modules lie: packages may lie below these folders, too."""


class Extension(ExtensionFileLoader):
    """Load a compiled module in a way that whoever watches which files are opened can see."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Open the file as any other, and load it."""
        with Path(self.path).open("rb"):
            return super().create_module(spec)


def from_source(root: Path, note: Callable[[str], None]) -> None:
    """Have this process import what lies below `root` without any cached bytecode.

    `note` is called with the files of modules that are looked for there in vain.

    Bytecode is told to be current by the second and the size of its source, and misses
    edits; and who watches which files are opened would not see the source.
    """
    sys.path_hooks.insert(0, _hook(root))
    sys.meta_path.append(Absent(root, note))
    # Nothing of the bundle is imported yet.  To go through the cache itself would copy a page of
    # memory for each of its entries.
    for folder in [entry for entry in sys.path if f"{entry}/".startswith(f"{root}/")]:
        sys.path_importer_cache.pop(folder, None)


class Absent:
    """A finder that comes after all others: it notes the files of modules that nobody found.

    They are looked for below `root` alone.  What installed packages and Python itself try to
    import is no business of the bundle's; there are dozens of such modules.
    """

    def __init__(self, root: Path, note: Callable[[str], None]) -> None:
        self.root = root
        self.note = note

    def find_spec(
        self, fullname: str, path: Iterable[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Note where the module might be; find it if it came this very moment."""
        if path is None and fullname in sys.stdlib_module_names:
            return None
        code = _importer(currentframe())
        if code is not None and self._is_no_business(code):
            return None
        folders = list(sys.path if path is None else path)
        candidates = list(self._candidates(fullname.rpartition(".")[2], folders))
        for candidate in candidates:
            self.note(str(candidate))
        if all(stamp_of(candidate) is None for candidate in candidates):
            return None
        invalidate_caches()
        return PathFinder.find_spec(fullname, folders)

    def _is_no_business(self, code: CodeType) -> bool:
        """Whether a package imports something, or a module of Python's while it is imported.

        A function of Python's may import what the bundle's code has named.
        """
        file = code.co_filename.removeprefix(str(self.root))
        if any(folder in file for folder in INSTALLED):
            return True
        return code.co_name == "<module>" and file.startswith(STDLIB)

    def _candidates(self, name: str, folders: Iterable[object]) -> Iterator[Path]:
        if not name.isprintable() or "/" in name:
            return
        for folder in folders:
            place = Path(folder) if isinstance(folder, str) else Path()
            if place.is_relative_to(self.root) and stamp_of(place) is None:  # no package
                yield place / f"{name}.py"
                yield place / name / "__init__.py"


def _importer(frame: FrameType | None) -> CodeType | None:
    """Return the code that imports something, by whatever way."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module != __name__ and module.partition(".")[0] != "importlib":
            return frame.f_code
        frame = frame.f_back
    return None


def _hook(root: Path) -> Callable[[str], FileFinder]:
    def find(folder: str) -> FileFinder:
        path = Path(folder)
        if not path.is_relative_to(root) or not path.is_dir():
            raise ImportError(f"{folder} is none of the bundle's folders")
        return FileFinder(folder, (Extension, EXTENSION_SUFFIXES), (SourceOnly, [".py"]))

    return find
