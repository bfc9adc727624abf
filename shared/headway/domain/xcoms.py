"""XComs as they are stored: JSON, with a tagged map for each value that JSON has no form of.

Services read this form alone.  They never turn a tagged map into the value that it stands for.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from headway.domain.arguments import TAG, JsonValue

XComItem: TypeAlias = "JsonValue | tuple[JsonValue, JsonValue]"
"""One item to expand a task over: of a dictionary, a key with its value."""


class XComKind(StrEnum):
    """What a tagged map stands for."""

    TUPLE = "tuple"
    SET = "set"
    FROZENSET = "frozenset"
    DICT = "dict"
    DATETIME = "datetime"
    DATE = "date"
    TIME = "time"
    TIMEDELTA = "timedelta"
    DECIMAL = "decimal"
    BYTES = "bytes"
    UUID = "uuid"
    PATH = "path"
    PURE_PATH = "pure_path"
    OBJECT_STORAGE_PATH = "object_storage_path"
    ENUM = "enum"
    DATACLASS = "dataclass"
    NAMED_TUPLE = "namedtuple"
    PYDANTIC = "pydantic"
    NUMPY = "numpy"
    TIMESTAMP = "pandas.timestamp"
    PANDAS_TIMEDELTA = "pandas.timedelta"
    DATAFRAME = "pandas.dataframe"
    SERIES = "pandas.series"
    ARROW_TABLE = "arrow.table"


ITEMS: Final = "items"
FIELDS: Final = "fields"
BINARY: Final = "base64"
"""Names in tagged maps: of a list, of the fields of an object, and of bytes as text."""

_LISTS: Final = (XComKind.TUPLE, XComKind.SET, XComKind.FROZENSET)
_SHOWN: Final = 80
"""Characters of bytes as text that people are shown."""


def items_of(value: JsonValue) -> Sequence[XComItem] | None:
    """Return what a task can be expanded over in a stored value; None if there is nothing.

    These are the items of a list, a tuple or a set, and the entries of a dictionary.
    """
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    return _tagged_items(value) if TAG in value else list(value.items())


def length_of(value: JsonValue) -> int | None:
    """Return how many items there are to expand a task over; None if there is nothing."""
    items = items_of(value)
    return None if items is None else len(items)


def readable(value: JsonValue) -> JsonValue:
    """Return a stored value as people are shown it: bytes are cut short."""
    if isinstance(value, list):
        return [readable(item) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {name: readable(item) for name, item in value.items()}
    text = value.get(BINARY)
    if TAG in value and isinstance(text, str) and len(text) > _SHOWN:
        shown[BINARY] = f"{text[:_SHOWN]}… ({len(text):,} characters)"
    return shown


def _tagged_items(value: dict[str, JsonValue]) -> Sequence[XComItem] | None:
    kind, items, fields = value[TAG], value.get(ITEMS), value.get(FIELDS)
    if kind == XComKind.NAMED_TUPLE and isinstance(fields, dict):
        return list(fields.values())
    if not isinstance(items, list):
        return None
    if kind == XComKind.DICT:
        return _entries(items)
    return items if kind in _LISTS else None


def _entries(items: list[JsonValue]) -> Sequence[XComItem] | None:
    found: list[XComItem] = []
    for item in items:
        match item:
            case [key, value]:
                found.append((key, value))
            case _:
                return None
    return found
