"""Which DAGs or runs a pass may take, where something is wrong with one of them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Choice(Generic[K]):
    """By their keys: these `only`, when any are named, and none of those set `aside`."""

    only: Collection[K] | None = None
    aside: Collection[K] = ()

    def parameters(self) -> dict[str, object]:
        """Return what the statements that lock want to know."""
        only = None if self.only is None else list(self.only)
        return {"only": only, "aside": list(self.aside)}


ANY_DAG: Final[Choice[str]] = Choice()
ANY_RUN: Final[Choice[int]] = Choice()
