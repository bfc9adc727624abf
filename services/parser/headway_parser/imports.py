"""Import the modules of a bundle from their source, each time."""

import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, ModuleSpec
from pathlib import Path
from types import ModuleType

from headway.sdk.loading import SourceOnly


class Extension(ExtensionFileLoader):
    """Load a compiled module in a way that whoever watches which files are opened can see."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Open the file as any other, and load it."""
        with Path(self.path).open("rb"):
            return super().create_module(spec)


def from_source(root: Path) -> None:
    """Have this process import what lies below `root` without any cached bytecode.

    Bytecode is told to be current by the second and the size of its source, and misses
    edits; and who watches which files are opened would not see the source.
    """
    sys.path_hooks.insert(0, _hook(root))
    for known in [it for it in sys.path_importer_cache if f"{it}/".startswith(f"{root}/")]:
        del sys.path_importer_cache[known]


def _hook(root: Path) -> Callable[[str], FileFinder]:
    def find(folder: str) -> FileFinder:
        path = Path(folder)
        if not path.is_relative_to(root) or not path.is_dir():
            raise ImportError(f"{folder} is none of the bundle's folders")
        return FileFinder(folder, (Extension, EXTENSION_SUFFIXES), (SourceOnly, [".py"]))

    return find
