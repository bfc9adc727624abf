"""Imports by a name that is built at run time: where in the bundle the module may be."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from os import listdir
from pathlib import Path
from posixpath import dirname, relpath
from typing import Final

MOST_NOTES: Final = 10

_NAMES_OF_MODULE: Final = ("__package__", "__name__")


@dataclass(frozen=True, slots=True)
class DynamicImport:
    """An import in a source, by a name of which only the beginning is known.

    The module is in one of `folders` of the bundle, and its name begins with `stem`.
    """

    path: str
    line: int
    folders: tuple[str, ...] = ()
    stem: str = ""
    anywhere: bool = False

    def is_covered(self, root: Path, own: Collection[str], named: Collection[str]) -> bool:
        """Tell whether all modules that it may import are files of the version.

        `own` are the version's files, and `named` those of them that `headway_files` names.  Where
        nothing is known of the name, any module that is named counts: its author has told.
        """
        if self.anywhere and not self.stem:
            return any(path.endswith(".py") for path in named)
        found = [path for folder in self.folders for path in self._modules(root, folder)]
        return bool(found) and all(path in own for path in found)

    def note(self, dag_file: str) -> str:
        """Return what to tell the author of a DAG file."""
        folder = self.folders[0] if len(self.folders) == 1 else "plugins"
        pattern = relpath(f"{folder}/{self.stem}*.py", dirname(dag_file) or ".")
        return (
            f"{self.path}, line {self.line}, imports a module by a name that is built at run time. "
            "A task finds the module if the bundle has it, but an edit of it makes no new "
            f'version. Name it in the DAG file: headway_files = ["{pattern}"]'
        )

    def _modules(self, root: Path, folder: str) -> Iterator[str]:
        begin = f"{folder}/" if folder else ""
        try:
            names = listdir(root / folder)  # noqa: PTH208 - names
        except OSError:
            return
        for name in names:
            if not name.startswith(self.stem) or name.startswith("__"):
                continue
            package = f"{begin}{name}/__init__.py"
            if name.endswith(".py"):
                yield begin + name
            elif (root / package).is_file():
                yield package


def arguments(call: ast.Call) -> list[ast.expr]:
    """Return what an import is given as name and, if at all, as package."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    return [
        *call.args,
        *(named[name] for name in ("name", "package")[len(call.args) :] if name in named),
    ]


def beginning(arguments: Sequence[ast.expr]) -> str:
    """Return what is known of the beginning of the name that an import is given."""
    found = arguments[0] if arguments else None
    while isinstance(found, ast.BinOp | ast.JoinedStr | ast.Call):
        if isinstance(found, ast.BinOp):
            if isinstance(found.op, ast.Mod):
                return _text(found.left).partition("%")[0]
            found = found.left
        elif isinstance(found, ast.JoinedStr):
            found = found.values[0] if found.values else None
        else:
            return _formatted(found)
    return _text(found)


def package_of(arguments: Sequence[ast.expr], path: str) -> str | None:
    """Return the folder that a relative name is relative to, if that is its source's own."""
    package = arguments[1] if len(arguments) > 1 else None
    own = isinstance(package, ast.Name) and package.id in _NAMES_OF_MODULE
    return dirname(path) if own else None


def _formatted(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "format":
        return _text(function.value).partition("{")[0]
    return ""


def _text(node: ast.expr | None) -> str:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text else ""  # type: ignore[union-attr]
