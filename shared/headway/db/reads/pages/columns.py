"""The columns of a statement that are the fields of a dataclass."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import itemgetter
from typing import Any, TypeAlias

from sqlalchemy import Row

Values: TypeAlias = Callable[[Row[Any]], list[Any]]


def values_of(kind: type, columns: Iterable[str], **converted: Callable[[Any], object]) -> Values:
    """Return what takes from a row the values of a dataclass's fields, in their order.

    A field without a column is left out.  `converted` says how the value of a field is made.
    """
    places = {column: place for place, column in enumerate(columns)}
    names = [field.name for field in fields(kind) if field.name in places]
    take = itemgetter(*(places[name] for name in names))
    conversions = [(names.index(name), convert) for name, convert in converted.items()]

    def values(row: Row[Any]) -> list[Any]:
        taken = list(take(row))
        for place, convert in conversions:
            taken[place] = convert(taken[place])
        return taken

    return values
