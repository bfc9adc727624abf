"""The columns of a statement that are the fields of a dataclass."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import itemgetter
from typing import Any, TypeAlias

from sqlalchemy import Row

Fields: TypeAlias = Callable[[Row[Any]], dict[str, Any]]


def fields_of(kind: type, columns: Iterable[str]) -> Fields:
    """Return what takes the fields of a dataclass, as far as there are such columns, from a row."""
    places = {column: place for place, column in enumerate(columns)}
    names = [field.name for field in fields(kind) if field.name in places]
    take = itemgetter(*(places[name] for name in names))
    return lambda row: dict(zip(names, take(row), strict=True))
