"""What functions take.  A DAG file makes many tasks of few classes and functions."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cache
from types import FunctionType
from typing import Final, NamedTuple, TypeGuard

_VARIABLE: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Takes(NamedTuple):
    """The parameters of a function: by position, and by name; `others` is for `**kwargs`."""

    positional: Sequence[str]
    named: Sequence[str]
    others: bool


def takes(function: Callable[..., object]) -> Takes | None:
    """Return what a function takes; None for some that are written in C, and do not tell."""
    if is_plain(function):
        code, names = function.__code__, function.__code__.co_varnames
        both = code.co_argcount + code.co_kwonlyargcount
        others = bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return Takes(names[: code.co_argcount], names[code.co_posonlyargcount : both], others)
    try:
        found = signature(function).parameters.values()
    except ValueError:
        return None
    return Takes(
        [
            parameter.name
            for parameter in found
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ],
        [
            parameter.name
            for parameter in found
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ],
        any(parameter.kind is parameter.VAR_KEYWORD for parameter in found),
    )


def fits(
    function: Callable[..., object],
    args: Collection[object],
    kwargs: Mapping[str, object],
    ready: Set[str],
) -> bool:
    """Return whether a function can surely be called so, with what is `ready` if it needs that.

    What it returns False for may fit as well: its signature tells, which takes longer to make.
    """
    if not is_plain(function):
        return False
    code = function.__code__
    if code.co_flags & _VARIABLE or code.co_posonlyargcount or len(args) > code.co_argcount:
        return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if not kwargs.keys() <= set(names[len(args) :]):
        return False
    left = names[len(args) : code.co_argcount - len(function.__defaults__ or ())]
    needed = {*left, *names[code.co_argcount :]} - (function.__kwdefaults__ or {}).keys()
    return needed - kwargs.keys() <= ready


def is_plain(function: Callable[..., object]) -> TypeGuard[FunctionType]:
    """Tell whether a function says itself what it takes: one with attributes may wrap another."""
    return isinstance(function, FunctionType) and not vars(function)


def signature(function: Callable[..., object]) -> inspect.Signature:
    """Return what a function takes; ValueError for some that are written in C."""
    if isinstance(function, FunctionType):
        return _of_function(function)
    return inspect.signature(function)  # it may be an object that cannot be a key


@cache
def _of_function(function: FunctionType) -> inspect.Signature:
    return inspect.signature(function)
