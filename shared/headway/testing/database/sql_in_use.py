"""Which SQL a part of Headway may execute, as its source says: nothing is run to find out.

From every function of the part, names are followed to the functions, classes and constants
that they stand for, in whatever module, down to the statements of `headway.db`.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy import TextClause

Symbol: TypeAlias = tuple[str, str]
"""A module, and a name at its top level."""

OURS: Final = ("headway", "headway_api", "headway_parser", "headway_scheduler", "headway_worker")


def statements(modules: Iterable[str], without: Iterable[Symbol] = ()) -> dict[str, TextClause]:
    """Return the statements within reach of these modules and packages, by module and name.

    The ways that lead through a symbol of `without` are not followed.
    """
    seen: set[Symbol] = set(without)
    waiting = [(module, name) for module in _all(modules) for name in _definitions(module)]
    found: dict[str, TextClause] = {}
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        module, name = here
        waiting.extend(_definitions(module).get(name, ()))
        if module in _files() and module.startswith("headway.db."):
            value = getattr(import_module(module), name, None)
            if isinstance(value, TextClause):
                known = found.setdefault(f"{module.rpartition('.')[2]}.{name}", value)
                assert known is value, f"two statements are called {name} of {module}"
    return found


@cache
def _files() -> dict[str, Path]:
    """Return the source files of Headway by the names of their modules."""
    found: dict[str, Path] = {}
    for package in OURS:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for path in root.rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


def _all(modules: Iterable[str]) -> Iterator[str]:
    for name in modules:
        assert name in _files(), name
        yield from (known for known in _files() if f"{known}.".startswith(f"{name}."))


@cache
def _definitions(module: str) -> dict[str, set[Symbol]]:
    """Return what each name at the top level of the module refers to."""
    if module not in _files():
        return {}
    tree = ast.parse(_files()[module].read_text())
    imported: dict[str, set[str]] = {}
    for name, target in _imports(tree):
        imported.setdefault(name, set()).add(target)
    defined: dict[str, set[Symbol]] = {}
    for node in tree.body:
        for name in _names(node):
            defined.setdefault(name, set()).update(_references(module, node, imported))
    return defined


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what names of Headway stand for: the name here, and the dotted name of the thing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _references(module: str, node: ast.stmt, imported: dict[str, set[str]]) -> Iterator[Symbol]:
    local = set(_locals(node))
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id not in local:
            for target in imported.get(part.id, {f"{module}.{part.id}"}):
                package, _, name = target.rpartition(".")
                yield package, name
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            for target in imported.get(part.value.id, ()):
                yield target, part.attr


def _locals(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        for part in ast.walk(node):
            if isinstance(part, ast.arg):
                yield part.arg
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
