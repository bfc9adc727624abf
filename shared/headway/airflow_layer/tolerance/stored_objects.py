"""How objects of provider packages and of Kubernetes' client are stored with a DAG."""

from typing import Any, Final

_KUBERNETES: Final = "kubernetes.client."
_PROVIDERS: Final = "airflow.providers."


def as_data(item: Any) -> object:
    """Return the fields of a part of a pod, the class of a provider's object, or the item."""
    modules = [base.__module__ for base in type(item).__mro__]
    if any(module.startswith(_KUBERNETES) for module in modules):
        return _without_none(item.to_dict())
    if any(module.startswith(_PROVIDERS) for module in modules):
        return type(item).__qualname__
    return item


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value
