"""Import the modules of a bundle from their source, each time."""

import sys
from collections.abc import Callable
from importlib.machinery import FileFinder
from pathlib import Path

from headway.sdk.loading import SourceOnly


def from_source(root: Path) -> None:
    """Have this process import what lies below `root` without any cached bytecode.

    Bytecode is told to be current by the second and the size of its source, and misses
    edits; and who watches which files are opened would not see the source.
    """
    sys.path_hooks.insert(0, _hook(root))
    sys.path_importer_cache.clear()


def _hook(root: Path) -> Callable[[str], FileFinder]:
    def find(folder: str) -> FileFinder:
        path = Path(folder)
        if not path.is_relative_to(root) or not path.is_dir():
            raise ImportError(f"{folder} is none of the bundle's folders")
        return FileFinder(folder, (SourceOnly, [".py"]))

    return find
