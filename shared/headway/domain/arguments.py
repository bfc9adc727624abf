"""Arguments of a task as plain data.

Whatever a DAG file passes to a task is stored with the DAG's version, so it must
have a form as data: JSON values as they are, dates, times, durations and references
to another task's XCom as a tagged map.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from typing_extensions import TypeAliasType

from headway.domain.errors import DagError

JsonValue = TypeAliasType(
    "JsonValue", "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
)

PLAIN: Final = frozenset({bool, int, float, str, type(None)})
"""The types of values that hold no other."""

_CONTAINERS: Final = frozenset({dict, list, tuple})

MAPPINGS: Final = (dict, Mapping)
"""Dictionaries are looked for first: to ask whether something is any Mapping takes long."""

RETURN_VALUE: Final = "return_value"
"""The XCom key under which a task's return value is stored."""

TAG: Final = "__headway__"

_BY_TEXT: Final[Mapping[type, str]] = {
    datetime: "datetime",  # before the class that it is a subclass of
    date: "date",
    time: "time",
    PurePath: "path",
    Decimal: "decimal",
    UUID: "uuid",
}

DEEPEST: Final = 32
"""Levels of lists and maps beyond which an argument is refused."""

SMALLEST_INTEGER: Final = -(2**63)
LARGEST_INTEGER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class XComReference:
    """The value that another task of the same run leaves under `key`."""

    task_id: str
    key: str = RETURN_VALUE


@dataclass(frozen=True, slots=True)
class ParamReference:
    """The value that the run has for a param."""

    name: str


class ObjectUrl:
    """A path in an object store, which is stored as a URL and the id of a connection."""

    __slots__ = ()

    def as_data(self) -> dict[str, JsonValue]:
        """Return the path as a tagged map; ValueError says what it has that is not stored."""
        raise NotImplementedError

    def map_texts(self, change: Callable[[str], object]) -> "ObjectUrl":
        """Return the path with its texts changed."""
        raise NotImplementedError


_REFERENCES: Final = (XComReference, ParamReference, ObjectUrl)
_ENCODABLE: Final = (int, float, str, timedelta, *_BY_TEXT, *_REFERENCES)


def is_encodable(value: object) -> bool:
    """Return whether a value that holds no others has a form as data."""
    return type(value) in PLAIN or isinstance(value, _ENCODABLE)


def nests_at_most(value: object, levels: int) -> bool:
    """Whether plain data has at most so many levels of lists and maps."""
    level = [value] if value and isinstance(value, dict | list) else []
    for _ in range(levels):
        if not level:
            return True
        level = [item for container in level for item in _containers_in(container)]
    return not level


def _containers_in(value: Any) -> list[Any]:
    items = value.values() if type(value) is dict else value
    return [item for item in items if type(item) is dict or type(item) is list]


def is_bare(value: object) -> bool:
    """Return whether a value holds no other: it is plain, or an empty container."""
    kind = type(value)
    return kind in PLAIN or (kind in _CONTAINERS and not value)


def encode_argument(value: object, where: str, depth: int = 0) -> JsonValue:
    """Return `value` as plain data; `where` names the argument in the error message."""
    if depth > DEEPEST:
        raise DagError(f"{where} is nested more than {DEEPEST} levels deep; flatten it.")
    if value is None or isinstance(value, (bool, int, float, str)):
        return _check_scalar(value, where)
    if isinstance(value, MAPPINGS):
        return _encode_map(value, where, depth)
    if isinstance(value, (list, tuple)):
        return [encode_argument(item, f"{where}[{n}]", depth + 1) for n, item in enumerate(value)]
    if isinstance(value, set | frozenset):
        items = [encode_argument(item, where, depth + 1) for item in value]
        return {TAG: "set", "items": sorted(items, key=repr)}
    return _encode_tagged(value, where)


def _check_scalar(value: float | str | None, where: str) -> float | str | None:
    if isinstance(value, float) and not isfinite(value):
        raise DagError(f"{where} is {value}, which has no form as data; pass None instead.")
    if isinstance(value, int) and not SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
        raise DagError(f"{where} is an integer of more than 64 bits; pass it as a string.")
    if isinstance(value, str) and not value.isascii() and not _is_text(value):
        raise DagError(f"{where} holds half a surrogate pair, which is no text.")
    return value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encode_map(value: Mapping[object, object], where: str, depth: int) -> JsonValue:
    encoded: dict[str, JsonValue] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise DagError(f"{where} has the key {key!r}; the keys of a map must be strings.")
        if key == TAG:
            raise DagError(f"{where} uses the key {TAG!r}, which Headway keeps for itself.")
        _check_scalar(key, f"{where}, in a key,")
        encoded[key] = encode_argument(item, f"{where}[{key!r}]", depth + 1)
    return encoded


def _encode_tagged(value: object, where: str) -> JsonValue:
    if isinstance(value, XComReference):
        return {TAG: "xcom", "task_id": value.task_id, "key": value.key}
    if isinstance(value, ParamReference):
        return {TAG: "param", "name": value.name}
    if isinstance(value, ObjectUrl):
        return _encode_url(value, where)
    for kind, name in _BY_TEXT.items():
        if isinstance(value, kind):
            text = value.isoformat() if isinstance(value, date | time) else str(value)
            return {TAG: name, "value": _check_scalar(text, where)}
    if isinstance(value, timedelta):
        return {TAG: "timedelta", "seconds": value.total_seconds()}
    raise DagError(
        f"{where} is of type {type(value).__name__}, which cannot be stored with the DAG. "
        "Pass JSON values, dates, times, timedeltas, paths, decimals, UUIDs or another task's "
        "output, and build anything else inside the task."
    )


def _encode_url(value: ObjectUrl, where: str) -> dict[str, JsonValue]:
    try:
        return value.as_data()
    except ValueError as error:
        raise DagError(f"{where} {error}.") from None
