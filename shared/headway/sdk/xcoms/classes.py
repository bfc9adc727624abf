"""Classes of a DAG's version by their names.

No class of another module is ever looked up, and no other module is imported.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from itertools import accumulate
from types import ModuleType
from typing import Final

from headway.sdk.running.context import running_context
from headway.sdk.running.tracebacks import PREFIX, shown_names

PROGRAM: Final = "__main__"


def own_name(cls: type) -> str | None:
    """Return the name of a class that a module of the version has at its top; None otherwise.

    A class inside another class counts; one that a function makes does not.
    """
    module = sys.modules.get(cls.__module__)
    if module is None or not _is_own(module) or _member(module, cls.__qualname__) is not cls:
        return None
    return f"{cls.__module__}:{cls.__qualname__}"


def own_class(name: str) -> type:
    """Return the class of that name; LookupError unless a module of the version defines it."""
    module_name, _, qualname = name.partition(":")
    found = _member(_own_module(module_name), qualname)
    # What the module has only imported is not its own.
    if not isinstance(found, type) or own_name(found) != name:
        raise LookupError(f"the version's module {_shown(module_name)} has no class {qualname!r}")
    return found


def _own_module(name: str) -> ModuleType:
    """Import a module of the version, package by package: each is checked before it is run."""
    for package in accumulate(name.split("."), "{}.{}".format):
        known = sys.modules.get(package)
        if known is None:
            spec = find_spec(package)  # the package around it is imported by now, and checked
            if spec is None or not _is_of_bundle(spec):
                raise LookupError(f"the version has no module {_shown(package)}")
            import_module(package)
        elif not _is_own(known):
            raise LookupError(f"the module {_shown(package)} is none of the version's")
    return sys.modules[name]


def _is_own(module: ModuleType) -> bool:
    if module.__name__.startswith(PREFIX):  # a DAG file itself, which only Headway imports so
        return True
    if module.__name__ == PROGRAM:
        return _is_dag_file_run()
    spec = module.__spec__
    return spec is not None and _is_of_bundle(spec)


def _is_dag_file_run() -> bool:
    """Whether the DAG of the running task is of the program that Python runs: `dag.test()`."""
    context = running_context()
    dag = None if context is None else context.get("dag")
    file = None if dag is None else dag.file
    return file is not None and file.module_name == PROGRAM


def _is_of_bundle(spec: ModuleSpec) -> bool:
    # Here and not above: it is much to import for a DAG file, and only tasks look for classes.
    from headway.sdk.bundle.bundle_imports import is_of_bundle

    return is_of_bundle(spec)


def _member(module: ModuleType, qualname: str) -> object:
    found: object = module
    for part in qualname.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType | type) else None
    return found


def _shown(module_name: str) -> str:
    return repr(shown_names(module_name))
