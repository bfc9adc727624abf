"""What a function is called, and says of itself.  A callable may be an object without a name."""

import inspect
from collections.abc import Callable
from functools import partial
from types import FunctionType

from headway.domain.errors import DagError
from headway.sdk.values.checks import shown


def name_of(function: Callable[..., object], decorator: str, argument: str) -> str:
    """Return the name of a decorated function; DagError for what has none, such as a partial()."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise DagError(
            f"@{decorator} decorates {shown(function)}, which has no name; give it one, as in "
            f'@{decorator}({argument}="name").'
        )
    return name


def call_of(function: Callable[..., object]) -> str:
    """Return what messages call a function, or an object that can be called."""
    return getattr(function, "__name__", None) or type(function).__name__


def doc_of(function: Callable[..., object]) -> str | None:
    """Return the docstring of a function; that of `partial` itself tells nothing."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, FunctionType) and not function.__doc__:
        return None  # faster than to look for it
    return inspect.getdoc(function)
