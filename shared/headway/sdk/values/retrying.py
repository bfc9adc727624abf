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
    if _among(error, task.fail_fast_on):
        return False
    if task.retry_on:
        return _among(error, task.retry_on)
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


def _among(error: type[BaseException], names: Collection[str]) -> bool:
    own = {_full_name(base) for base in error.__mro__ if issubclass(base, BaseException)}
    return any(name in own or _is_alias(error, name) for name in names)


def _is_alias(error: type[BaseException], name: str) -> bool:
    """Tell whether that is another name of the class or of a base: packages often have one."""
    module, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module), attribute, None)
    return isinstance(found, type) and issubclass(error, found)
