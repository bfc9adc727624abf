"""Parameters of functions that Airflow fills from the context, and Headway cannot."""

from typing import Final

from headway.airflow_layer.gaps import error_of
from headway.sdk.values.signatures import takes

_STORES: Final = frozenset({"task_state_store", "asset_state_store"})


def refuse_stores(function: object) -> None:
    """Refuse a function of a task that asks for a store: it would get None, and fail by that."""
    taken = takes(function) if callable(function) else None
    for name in taken.named if taken else ():
        if name in _STORES:
            where = getattr(function, "__qualname__", repr(function))
            raise error_of(f"{where}({name}=…)", of="NEVER_EXPIRE")
