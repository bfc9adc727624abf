"""What functions take.  A DAG file makes many tasks of few classes and functions."""

import inspect
from collections.abc import Callable, Collection, Mapping, Set
from functools import cache
from types import FunctionType

_UNUSUAL = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def fits(
    function: Callable[..., object],
    args: Collection[object],
    kwargs: Mapping[str, object],
    ready: Set[str],
) -> bool:
    """Return whether a function can surely be called so, with what is `ready` if it needs that.

    What it returns False for may fit as well: its signature tells, which takes longer to make.
    """
    if not isinstance(function, FunctionType) or vars(function):  # it may wrap another
        return False
    code = function.__code__
    if code.co_flags & _UNUSUAL or code.co_posonlyargcount or len(args) > code.co_argcount:
        return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if not kwargs.keys() <= set(names[len(args) :]):
        return False
    left = names[len(args) : code.co_argcount - len(function.__defaults__ or ())]
    needed = {*left, *names[code.co_argcount :]} - (function.__kwdefaults__ or {}).keys()
    return needed <= kwargs.keys() | ready


def signature(function: Callable[..., object]) -> inspect.Signature:
    """Return what a function takes; ValueError for some that are written in C."""
    if isinstance(function, FunctionType):
        return _of_function(function)
    return inspect.signature(function)  # it may be an object that cannot be a key


@cache
def _of_function(function: FunctionType) -> inspect.Signature:
    return inspect.signature(function)
