"""User code in UDFs: Spark's Python processes cannot import what lies beside a DAG file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from pyspark.cloudpickle import register_pickle_by_value


def register_user_modules(bundle_root: Path) -> None:
    """Let functions from the bundle's modules travel to Spark as code, not as an import.

    This holds for modules that are imported now and for those that will be.  A
    function may call what its module imported at the top; an import of another of
    the bundle's modules inside its body fails in Spark.
    """
    root = bundle_root.resolve()
    for name in {*_loaded(root), *_importable(root)}:
        _register(name)


def _loaded(root: Path) -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if _lies_below(root, module):
            yield name


def _importable(root: Path) -> Iterator[str]:
    """Yield the top-level modules of the bundle, of which sub-modules take the treatment."""
    for path in root.iterdir():
        name = path.stem if path.suffix == ".py" else path.name
        is_module = path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))
        loaded = sys.modules.get(name)
        if is_module and name.isidentifier() and (loaded is None or _lies_below(root, loaded)):
            yield name


def _lies_below(root: Path, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).resolve().is_relative_to(root)


def _register(name: str) -> None:
    """Register a module under its name; the library insists that it be imported already."""
    is_absent = name not in sys.modules
    module = sys.modules.setdefault(name, ModuleType(name))
    try:
        register_pickle_by_value(module)
    finally:
        if is_absent:
            del sys.modules[name]
