"""Arguments of a task as plain data.

Whatever a DAG file passes to a task is stored with the DAG's version, so it must
have a form as data: JSON values as they are, dates and durations and references
to another task's XCom as a tagged map.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from headway.domain.errors import DagError

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"

RETURN_VALUE: Final = "return_value"
"""The XCom key under which a task's return value is stored."""

TAG: Final = "__headway__"


@dataclass(frozen=True, slots=True)
class XComReference:
    """The value that another task of the same run leaves under `key`."""

    task_id: str
    key: str = RETURN_VALUE


def encode_argument(value: object, where: str) -> JsonValue:
    """Return `value` as plain data; `where` names the argument in the error message."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _finite(value, where)
    if isinstance(value, Mapping):
        return _encode_map(value, where)
    if isinstance(value, list | tuple):
        return [encode_argument(item, f"{where}[{n}]") for n, item in enumerate(value)]
    if isinstance(value, set | frozenset):
        items = [encode_argument(item, where) for item in value]
        return {TAG: "set", "items": sorted(items, key=repr)}
    return _encode_tagged(value, where)


def decode_argument(value: JsonValue, resolve: Callable[[XComReference], object]) -> object:
    """Turn plain data back into the argument; `resolve` fetches what another task left."""
    if isinstance(value, list):
        return [decode_argument(item, resolve) for item in value]
    if not isinstance(value, dict):
        return value
    match value.get(TAG):
        case None:
            return {key: decode_argument(item, resolve) for key, item in value.items()}
        case "xcom":
            return resolve(XComReference(str(value["task_id"]), str(value["key"])))
        case "datetime":
            return datetime.fromisoformat(str(value["value"]))
        case "timedelta":
            return timedelta(seconds=float(str(value["seconds"])))
        case "set":
            items = value["items"]
            assert isinstance(items, list)
            return {decode_argument(item, resolve) for item in items}
        case unknown:
            raise DagError(f"An argument has the unknown form {unknown!r}.")


def _finite(value: float, where: str) -> float:
    if value != value or value in (float("inf"), float("-inf")):
        raise DagError(f"{where} is {value}, which has no form as data; pass None instead.")
    return value


def _encode_map(value: Mapping[object, object], where: str) -> JsonValue:
    encoded: dict[str, JsonValue] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise DagError(f"{where} has the key {key!r}; the keys of a map must be strings.")
        if key == TAG:
            raise DagError(f"{where} uses the key {TAG!r}, which Headway keeps for itself.")
        encoded[key] = encode_argument(item, f"{where}[{key!r}]")
    return encoded


def _encode_tagged(value: object, where: str) -> JsonValue:
    if isinstance(value, XComReference):
        return {TAG: "xcom", "task_id": value.task_id, "key": value.key}
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise DagError(f"{where} is the date {value} without a time zone; give it one.")
        return {TAG: "datetime", "value": value.isoformat()}
    if isinstance(value, timedelta):
        return {TAG: "timedelta", "seconds": value.total_seconds()}
    raise DagError(
        f"{where} is of type {type(value).__name__}, which cannot be stored with the DAG. "
        "Pass JSON values, aware datetimes, timedeltas or another task's output, "
        "and build anything else inside the task."
    )
