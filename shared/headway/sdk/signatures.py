"""What functions take.  A DAG file makes many tasks of few classes and functions."""

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType


def signature(function: Callable[..., object]) -> inspect.Signature:
    """Return what a function takes; ValueError for some that are written in C."""
    if isinstance(function, FunctionType):
        return _of_function(function)
    return inspect.signature(function)  # it may be an object that cannot be a key


@cache
def _of_function(function: FunctionType) -> inspect.Signature:
    return inspect.signature(function)
