"""Parameters of functions that Airflow fills from the context, and Headway cannot."""

from typing import Final

from headway.airflow_layer.gaps import error_of
from headway.sdk.values.signatures import takes

_STORE: Final = "asset_state_store"


def refuse_stores(function: object) -> None:
    """Refuse a function of a task that asks for a store of assets: it would get None, and fail."""
    taken = takes(function) if callable(function) else None
    if taken and _STORE in taken.named:
        where = getattr(function, "__qualname__", repr(function))
        raise error_of(f"{where}({_STORE}=…)", of=_STORE)
