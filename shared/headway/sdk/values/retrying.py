"""Which exceptions a task is tried again for: named when a DAG file is read, met when it runs.

A name is the exception's module and its name there, for that is data.  Nothing is imported to
look one up: what was raised comes from a module that is there.
"""

import builtins
import sys
from collections.abc import Collection, Iterable
from typing import Final

from headway.domain.dag.spec import TaskSpec
from headway.domain.errors import DagError, RefusalError
from headway.sdk.values import checks

_WANTED: Final = (
    'exception classes, or their names as "package.module.Error", in a list or one alone'
)


def exception_names(value: object, where: str) -> tuple[str, ...]:
    """Accept exceptions by class or by dotted name; return their names, sorted, each once."""
    if value is None:
        return ()
    items = [value] if isinstance(value, type | str) else value
    if not isinstance(items, Iterable):
        checks.refuse(where, _WANTED, value)
    names = {_name(item, where) for item in items}
    if not names:
        raise DagError(f"{where} names no exception; name one, or leave it out.")
    return tuple(sorted(names))


def may_retry(task: TaskSpec, error: type[BaseException]) -> bool:
    """Tell whether the task may be tried again after an exception of that class.

    What Headway refuses it refuses again, so that only `retry_on` has such a task tried again.
    """
    if is_among(error, task.fail_fast_on):
        return False
    if task.retry_on:
        return is_among(error, task.retry_on)
    return not issubclass(error, RefusalError)


def _name(item: object, where: str) -> str:
    if isinstance(item, type) and issubclass(item, BaseException):
        return _full_name(item)
    if not isinstance(item, str) or not all(part.isidentifier() for part in item.split(".")):
        checks.refuse(where, _WANTED, item)
    if "." in item:
        return item
    builtin = getattr(builtins, item, None)
    if not isinstance(builtin, type) or not issubclass(builtin, BaseException):
        raise DagError(
            f"{where} names {item!r}, which is no exception of Python's own; name it with its "
            f'module, as "package.module.{item}".'
        )
    return _full_name(builtin)


def _full_name(error: type[BaseException]) -> str:
    return f"{error.__module__}.{error.__qualname__}"


def is_among(
    error: type[BaseException], names: Collection[str], *, with_bases: bool = True
) -> bool:
    """Tell whether a class of exceptions is named; `with_bases` if a name of a base counts."""
    classes = error.__mro__ if with_bases else (error,)
    own = {_full_name(base) for base in classes if issubclass(base, BaseException)}
    return any(name in own or _is_alias(classes, name) for name in names)


def _is_alias(classes: Collection[type], name: str) -> bool:
    """Tell whether that is another name of one of the classes: packages often have one."""
    module, _, attribute = name.rpartition(".")
    return getattr(sys.modules.get(module), attribute, None) in classes
