"""The codec of XComs: what is stored of a value, and the value that it was.

Plain JSON stays as it is.  Any other value becomes a map with a tag, which only a task's own
process turns back.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from headway.domain.arguments import MAPPINGS, PLAIN, TAG, JsonValue
from headway.domain.xcoms import ITEMS, XComItem, XComKind
from headway.sdk.exceptions import XComError
from headway.sdk.running.tracebacks import message_of
from headway.sdk.values.xcom import XCOM_LIMIT, check_depth, check_scalar, check_size
from headway.sdk.xcoms import object_urls, objects, scalars, tables, times


def encode_xcom(value: object, where: str, limit: int = XCOM_LIMIT) -> JsonValue:
    """Return what is stored of `value`, or raise an XComError that names the offending part."""
    encoded = _encode(value, where, 0)
    check_size(encoded, where, limit)
    return encoded


def decode_xcom(stored: JsonValue, where: str) -> Any:
    """Return the value that was stored so; XComError when that cannot be."""
    if type(stored) in PLAIN:
        return stored
    try:
        return _decode(stored)
    except XComError:
        raise
    except Exception as error:  # a class of the version may raise anything
        said = str(error) if type(error) is LookupError else message_of(error)
        raise XComError(f"{where} cannot be turned back into what it was: {said}.") from error


def decode_item(item: XComItem, where: str) -> Any:
    """Return one item of what a task is expanded over."""
    if isinstance(item, tuple):
        return decode_xcom(item[0], where), decode_xcom(item[1], where)
    return decode_xcom(item, where)


def _encode(value: object, where: str, depth: int) -> JsonValue:
    check_depth(where, depth)
    if value is None or isinstance(value, str | int | float):
        return check_scalar(value, where)
    if isinstance(value, list):
        return _encode_list(value, where, depth)
    fields = partial(_encode_fields, where=where, depth=depth + 1)
    return objects.encode_object(value, where, fields) or _encode_other(value, where, depth)


def _encode_other(value: object, where: str, depth: int) -> JsonValue:
    if isinstance(value, tuple):
        return {TAG: str(XComKind.TUPLE), ITEMS: _encode_list(value, where, depth + 1)}
    if isinstance(value, set | frozenset):
        return _encode_set(value, where, depth)
    if isinstance(value, MAPPINGS):
        return _encode_map(value, where, depth)
    return _encode_leaf(value, where, depth)


def _encode_list(items: Iterable[object], where: str, depth: int) -> list[JsonValue]:
    check_depth(where, depth)
    return [_encode(item, f"{where}[{n}]", depth + 1) for n, item in enumerate(items)]


def _encode_set(
    value: set[object] | frozenset[object], where: str, depth: int
) -> dict[str, JsonValue]:
    check_depth(where, depth + 1)
    kind = XComKind.SET if isinstance(value, set) else XComKind.FROZENSET
    items = [_encode(item, f"{where}, in the set,", depth + 2) for item in value]
    return {TAG: str(kind), ITEMS: sorted(items, key=json.dumps)}


def _encode_map(value: Mapping[Any, object], where: str, depth: int) -> dict[str, JsonValue]:
    """Return a dictionary as it is, unless JSON has no such keys."""
    if TAG not in value and all(isinstance(key, str) for key in value):
        return {
            str(check_scalar(key, f"{where}, in a key,")): _encode(
                item, f"{where}[{key!r}]", depth + 1
            )
            for key, item in value.items()
        }
    pairs: list[JsonValue] = [
        [
            _encode(key, f"{where}, in the key {key!r},", depth + 3),
            _encode(item, f"{where}[{key!r}]", depth + 3),
        ]
        for key, item in value.items()
    ]
    return {TAG: str(XComKind.DICT), ITEMS: pairs}


def _encode_fields(fields: Mapping[str, object], where: str, depth: int) -> JsonValue:
    check_depth(where, depth)
    return {
        str(check_scalar(name, f"{where}, in a name,")): _encode(item, f"{where}.{name}", depth + 1)
        for name, item in fields.items()
    }


def _encode_leaf(value: object, where: str, depth: int) -> JsonValue:
    found = scalars.encode_numpy(value)
    if found is None:
        inner = partial(_encode, where=f"{where}, in its name,", depth=depth + 1)
        found = tables.encode_table(value, where, inner)
    found = found or times.encode_time(value) or scalars.encode_scalar(value)
    found = found or object_urls.encode_url(value, where)
    if found is None:
        raise XComError(
            f"{where} is of type {type(value).__name__}, which cannot be an XCom. Return JSON "
            "values, tuples, sets, dates, decimals, bytes, UUIDs, paths, tables of pandas or "
            "Arrow, or dataclasses, named tuples, enumerations and pydantic models of the DAG's "
            "bundle; write anything else to a file and return its path."
        )
    return {
        name: check_scalar(item, where) if type(item) in PLAIN else item  # type: ignore[arg-type]
        for name, item in found.items()
    }


def _decode(stored: Any) -> Any:
    if type(stored) in PLAIN:
        return stored
    if isinstance(stored, list):
        return [_decode(item) for item in stored]
    if TAG not in stored:
        return {name: _decode(item) for name, item in stored.items()}
    decoder = _DECODERS.get(stored[TAG])
    if decoder is None:
        raise LookupError(f"this release does not know {stored[TAG]!r}")
    return decoder(stored)


def _with_items(make: Callable[[Iterable[Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda data: make([_decode(item) for item in data[ITEMS]])


_DECODERS: Final[Mapping[object, Callable[[dict[str, Any]], Any]]] = {
    XComKind.TUPLE: _with_items(tuple),
    XComKind.SET: _with_items(set),
    XComKind.FROZENSET: _with_items(frozenset),
    XComKind.DICT: _with_items(dict),
    XComKind.DATETIME: times.decode_datetime,
    XComKind.DATE: times.decode_date,
    XComKind.TIME: times.decode_time,
    XComKind.TIMEDELTA: times.decode_timedelta,
    XComKind.DECIMAL: scalars.decode_decimal,
    XComKind.BYTES: scalars.decode_bytes,
    XComKind.UUID: scalars.decode_uuid,
    XComKind.PATH: scalars.decode_path,
    XComKind.PURE_PATH: scalars.decode_pure_path,
    XComKind.NUMPY: scalars.decode_numpy,
    XComKind.OBJECT_STORAGE_PATH: object_urls.decode_url,
    XComKind.ENUM: partial(objects.decode_enum, decode=_decode),
    XComKind.DATACLASS: partial(objects.decode_dataclass, decode=_decode),
    XComKind.NAMED_TUPLE: partial(objects.decode_named_tuple, decode=_decode),
    XComKind.PYDANTIC: partial(objects.decode_model, decode=_decode),
    XComKind.TIMESTAMP: tables.decode_timestamp,
    XComKind.PANDAS_TIMEDELTA: tables.decode_timedelta,
    XComKind.DATAFRAME: tables.decode_dataframe,
    XComKind.SERIES: partial(tables.decode_series, decode=_decode),
    XComKind.ARROW_TABLE: tables.decode_arrow,
}
