"""Rehearse an action: carry it out in a transaction that is rolled back."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine

T = TypeVar("T")


def rehearse(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Return what `work` would return, and leave nothing of it behind."""
    with engine.connect() as conn:
        return work(conn)
