"""How objects among the arguments of operators are stored with a DAG, which shows them.

A task that runs makes its objects anew, from the DAG file.
"""

from typing import Any, Final

from headway.domain.arguments import is_encodable

_KUBERNETES: Final = "kubernetes.client."


def as_data(item: Any) -> object:
    """Return what has a form as data, the fields of a part of a pod, or the name of a class."""
    if is_encodable(item):
        return item
    if any(base.__module__.startswith(_KUBERNETES) for base in type(item).__mro__):
        return _without_none(item.to_dict())
    return getattr(item, "__qualname__", type(item).__qualname__)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
