"""Classes of values that go from task to task; a DAG of Headway imports them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Leg:
    """A part of a flight."""

    carrier: str
    departs: datetime


@dataclass(frozen=True)
class Flight:
    """A flight, which has parts."""

    legs: tuple[Leg, ...]
