"""Which lazy names of the context a function with `**kwargs` may ask for.

Python makes a plain dictionary of what a function takes as `**kwargs`. So a value cannot be worked
out when it is asked for: it has to be there before the call. The function's bytecode tells which
names it asks for, so that a task pays for no other.
"""

import dis
import inspect
from collections.abc import Callable, Iterator, Set
from types import CodeType
from typing import Any, Final

from headway.domain.errors import HeadwayError
from headway.sdk.running.context import Context
from headway.sdk.running.old_names import LAZY, work_out
from headway.sdk.values.signatures import is_plain

_KEEP: Final = frozenset({"MAKE_CELL", "LOAD_CLOSURE", "COPY_FREE_VARS"})
"""What an inner function that uses a variable of the outer one needs; the inner one is read too."""

_SEES_ALL: Final = frozenset({"locals", "vars", "eval", "exec"})


def lazy_values(function: Callable[..., Any], context: Context, given: Set[str]) -> dict[str, Any]:
    """Return the lazy names that a function with `**kwargs` may ask for, with their values.

    Names that are `given` to it are left out. A name that the function writes down raises and warns
    as it does when it is asked for. A function that hands `**kwargs` on gets all other names too,
    without a warning. One that cannot be worked out is left out, and the log says so.
    """
    code = function.__code__ if is_plain(function) else None
    codes = list(_with_inner(code)) if code else []
    wanted = LAZY.keys() - given
    named = sorted(
        {name for code_object in codes for name in code_object.co_consts if name in wanted}
    )
    values = {name: work_out(name, context) for name in named}
    if code and not _hands_on(_kwargs_of(code), codes):
        return values
    for name in sorted(wanted - values.keys()):
        try:
            values[name] = LAZY[name](context)
        except (HeadwayError, ArithmeticError, ValueError) as error:
            print(f"[headway] {name} is left out of **kwargs: {error}", flush=True)  # noqa: T201
    return values


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of all functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _kwargs_of(code: CodeType) -> str:
    """Return the name of the parameter `**kwargs`, which is the last one."""
    variable = bool(code.co_flags & inspect.CO_VARARGS)
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount + variable]


def _hands_on(kwargs: str, codes: list[CodeType]) -> bool:
    """Tell whether the dictionary may be used other than by names that are written down."""
    return any(
        not _SEES_ALL.isdisjoint(code.co_names) or _is_handed_on(kwargs, code) for code in codes
    )


def _is_handed_on(kwargs: str, code: CodeType) -> bool:
    steps = [
        positions
        for positions in dis.get_instructions(code)
        if positions.opname not in ("CACHE", "PUSH_NULL")
    ]
    for number, step in enumerate(steps):
        mentioned = step.argval == kwargs or (
            isinstance(step.argval, tuple) and kwargs in step.argval
        )
        if not mentioned or step.opname in _KEEP or "CONST" in step.opname:
            continue
        if not step.opname.startswith("LOAD_") or isinstance(step.argval, tuple):
            return True
        if not _looks_up(steps[number + 1 : number + 3]):
            return True
    return False


def _looks_up(following: list[dis.Instruction]) -> bool:
    """Tell whether what follows the dictionary is `["name"]`, `.get("name"` or a test by `in`."""
    first, second = (following + following)[:2]
    if first.opname == "CONTAINS_OP":
        return True
    if first.opname == "LOAD_CONST" and isinstance(first.argval, str):
        return second.opname == "BINARY_SUBSCR" or second.argrepr == "[]"
    return first.argval == "get" and isinstance(second.argval, str) and "CONST" in second.opname
