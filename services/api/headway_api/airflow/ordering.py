"""The parameter `order_by`: an attribute, with a dash before it for the reverse order."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from headway.domain.errors import RequestError

T = TypeVar("T")


class Ordering(NamedTuple):
    """By which attribute a list is ordered, and whether the largest comes first."""

    attribute: str
    descending: bool


def orderings(order_by: Sequence[str], usual: str) -> list[Ordering]:
    """Return how a list is ordered, by the first attribute first; as usual without any."""
    given = [name for each in order_by for name in each.split(",") if name] or [usual]
    return [Ordering(name.removeprefix("-"), name.startswith("-")) for name in given]


def ordering(order_by: Sequence[str], usual: str) -> Ordering:
    """Return how a list is ordered: by one attribute alone, or as usual."""
    if len(order_by) > 1 or any("," in each for each in order_by):
        raise RequestError("A list is ordered by one attribute; give order_by once.")
    given = order_by[0] if order_by else usual
    return Ordering(given.removeprefix("-"), given.startswith("-"))


def known(attributes: Mapping[str, T], wanted: Ordering) -> T:
    """Return what the attribute stands for; RequestError, naming those there are, without it."""
    if wanted.attribute not in attributes:
        raise RequestError(
            f"This list is not ordered by {wanted.attribute[:60]!r}. It is ordered by "
            f"{' or '.join(attributes)}; a dash before the name reverses it."
        )
    return attributes[wanted.attribute]
