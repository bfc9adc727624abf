"""`headway_files` of a DAG file: further files that are part of its versions."""

import ast
import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import dirname, normpath
from typing import Final

from headway.domain.errors import DagError
from headway.runtime.daemon.seam import nothing

NAME: Final = "headway_files"
MOST_LOOKED_AT: Final = 20_000
"""Files and folders that may be looked at to find those that a pattern names."""

MOST_PATTERNS: Final = 50
"""Patterns of a DAG file: a parser looks for the files of each again and again."""

_MANY: Final = "**"
_WILD: Final = frozenset("*?[")


def declared(source: bytes, dag_file: str) -> list[str]:
    """Return the patterns that a DAG file names, relative to the bundle.

    DagError if they are no list of texts, or lead out of the bundle.
    """
    if NAME.encode() not in source:
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []  # which whoever imports the file is told
    found = []
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if any(isinstance(target, ast.Name) and target.id == NAME for target in targets):
            assert isinstance(node, ast.Assign)
            found += _texts(node.value, dag_file)
    patterns = [_relative(text, dag_file) for text in found]
    count = sum(map(is_pattern, set(patterns)))
    if count > MOST_PATTERNS:
        raise DagError(
            f"{dag_file}: {NAME} has {count} patterns; {MOST_PATTERNS} is the limit. Name a folder "
            'with all that is in it, such as "conf/**", or files without a wildcard.'
        )
    return patterns


def matches(root: Path, pattern: str, hurry: Callable[[], None] = nothing) -> list[str]:
    """Return the files below `root` that a pattern names, sorted.

    `*`, `?` and `[…]` stand for a part of a name, `**` for folders.  A name that begins with a
    dot must be named so.  DagError if that takes too long.  `hurry` is called at each file and
    folder, and may raise an error.
    """
    if _WILD.isdisjoint(pattern):
        return [pattern] if (root / pattern).is_file() else []
    looking = _Looking(root, pattern, hurry)
    return sorted(set(looking.below("", pattern.split("/"))))


def is_pattern(text: str) -> bool:
    """Whether a pattern has a wildcard."""
    return not _WILD.isdisjoint(text)


def refuse_missing(pattern: str, dag_file: str) -> DagError:
    """Return the error for a pattern that names no file."""
    return DagError(
        f"{dag_file}: {NAME} names {pattern!r}, and there is no such file in the bundle. Names are "
        "relative to the DAG file. Correct it, or leave it out."
    )


class _Looking:
    def __init__(self, root: Path, pattern: str, hurry: Callable[[], None]) -> None:
        self.root = root
        self.hurry = hurry
        self.pattern = pattern
        self.left = MOST_LOOKED_AT

    def below(self, folder: str, parts: Sequence[str]) -> Iterator[str]:
        first, rest = parts[0], parts[1:]
        if first == _MANY:
            yield from self.below(folder, rest or ["*"])
        for name, is_folder in self._entries(folder):
            path = f"{folder}/{name}" if folder else name
            if first == _MANY:
                if is_folder and not name.startswith("."):
                    yield from self.below(path, parts)
            elif fnmatchcase(name, first) and (name[0] != "." or first[0] == "."):
                if rest and is_folder:
                    yield from self.below(path, rest)
                elif not rest and not is_folder:
                    yield path

    def _entries(self, folder: str) -> Iterator[tuple[str, bool]]:
        try:
            with os.scandir(self.root / folder) as entries:
                for entry in entries:
                    self.hurry()
                    self.left -= 1
                    if self.left < 0:
                        raise DagError(
                            f"{NAME} names {self.pattern!r}, for which more than "
                            f"{MOST_LOOKED_AT:,} files and folders are to be looked at. "
                            "Name a folder in it."
                        )
                    if entry.name != "__pycache__" and not _is_loop(entry):
                        yield entry.name, entry.is_dir()
        except OSError:
            return  # it is not there, or went meanwhile


def _is_loop(entry: "os.DirEntry[str]") -> bool:
    return entry.is_symlink() and entry.is_dir()


def _texts(value: ast.expr, dag_file: str) -> list[str]:
    try:
        texts = ast.literal_eval(value)
    except ValueError:
        texts = None
    if not isinstance(texts, list | tuple) or not all(
        isinstance(text, str) and text for text in texts
    ):
        raise DagError(
            f"{dag_file}: {NAME} must be a list of texts as they are written, such as "
            f'{NAME} = ["conf/*.json"].'
        )
    return list(texts)


def _relative(text: str, dag_file: str) -> str:
    path = normpath(f"{dirname(dag_file)}/{text}" if dirname(dag_file) else text)
    if text.startswith("/") or path.partition("/")[0] in ("..", ".") or "\0" in path:
        raise DagError(f"{dag_file}: {NAME} names {text!r}, which is not in the bundle.")
    return path
