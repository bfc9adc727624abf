"""The source of a function, for another Python to define it by."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from headway.domain.errors import DagError


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """The text of a function without its decorators, and where in which file it begins."""

    name: str
    text: str
    file: str
    line: int


def check_alone(function: Callable[..., Any], where: str) -> None:
    """Refuse a function that cannot be defined by its source alone."""
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise DagError(f"{where}: it runs in another Python; give a function written with def.")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise DagError(
            f"{where}: the function runs in another Python, and must be no generator and not async."
        )
    outer = [name for name in function.__code__.co_freevars if name != function.__name__]
    if outer:
        raise DagError(
            f"{where}: the function runs in another Python, without {outer[0]!r} of the function "
            "around it; pass that as an argument."
        )


def source_of(function: Callable[..., Any]) -> FunctionSource:
    """Return the source, as the loader of its module has it: no later one that is on disk."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    lines = _lines(function)[code.co_firstlineno - 1 :]
    block = textwrap.dedent("".join(inspect.getblock(lines)))
    (definition,) = ast.parse(block).body
    first = definition.lineno - 1
    text = "".join(block.splitlines(keepends=True)[first:])
    return FunctionSource(function.__name__, text, code.co_filename, code.co_firstlineno + first)


def _lines(function: FunctionType) -> list[str]:
    module = sys.modules.get(function.__module__)
    loader = getattr(module, "__loader__", None)
    read = getattr(loader, "get_source", None)
    text = read(function.__module__) if read else None
    return text.splitlines(keepends=True) if text else inspect.findsource(function)[0]
