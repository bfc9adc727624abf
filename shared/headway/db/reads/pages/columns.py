"""The columns of a statement that are the fields of a dataclass."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import itemgetter
from typing import Any, TypeAlias

Values: TypeAlias = Callable[[Sequence[Any]], list[Any]]


def optional(convert: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return the conversion that leaves None as it is."""
    return lambda value: None if value is None else convert(value)


def values_of(
    kind: type, columns: Iterable[str], skip: int = 0, **converted: Callable[[Any], object]
) -> Values:
    """Return a function that takes the values of a dataclass's fields, in order, from a row.

    The first `skip` fields are left out.  `converted` has, by field, the function to which the
    value of its column is given.  KeyError if a field has no column.  There must be two fields.
    """
    place_of = {column: place for place, column in enumerate(columns)}
    names = [field.name for field in fields(kind)[skip:]]
    take = itemgetter(*[place_of[name] for name in names])
    conversions = [(names.index(name), convert) for name, convert in converted.items()]

    def values(row: Sequence[Any]) -> list[Any]:
        taken = [*take(row)]
        for place, convert in conversions:
            taken[place] = convert(taken[place])
        return taken

    return values
