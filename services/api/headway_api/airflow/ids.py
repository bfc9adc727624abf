"""The UUIDs by which Airflow's clients know what has a number here."""

from functools import lru_cache
from typing import Final
from uuid import UUID, uuid5

_NAMESPACE: Final = UUID("6f9d1c56-6f0f-5f9b-9d0a-2c8f6f1d3b7e")

_KEPT: Final = 16_384
"""UUIDs that are kept: a client that reads a list again gets the same ones."""


@lru_cache(_KEPT)
def uuid_of(kind: str, number: int) -> UUID:
    """Return the UUID of what has that number among its kind, always the same."""
    return uuid5(_NAMESPACE, f"{kind}:{number}")
