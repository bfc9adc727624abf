"""What plain JSON may be in an XCom, and in the params of a DAG."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Final

from headway.domain.arguments import JsonValue
from headway.sdk.exceptions import XComError

XCOM_LIMIT: Final = 1024 * 1024
"""The most bytes that one XCom may have as JSON."""

DEEPEST: Final = 50
"""Levels of lists and maps in an XCom, within what a frame to the worker may have."""
SMALLEST_INTEGER: Final = -(2**63)
LARGEST_INTEGER: Final = 2**63 - 1


def check_size(encoded: JsonValue, where: str, limit: int = XCOM_LIMIT) -> None:
    """Raise XComError when plain JSON is larger than an XCom may be."""
    size = len(json.dumps(encoded, ensure_ascii=False).encode())
    if size > limit:
        raise too_large(where, size, limit)


def too_large(where: str, size: int, limit: int) -> XComError:
    """Return the error of an XCom of so many bytes."""
    return XComError(
        f"{where} has {size:,} bytes as JSON; an XCom may have {limit:,}. "
        "Store large data in a file and return its path."
    )


def check_depth(where: str, depth: int) -> None:
    """Raise XComError for a value that lies below too many lists and maps."""
    if depth > DEEPEST:
        raise XComError(f"{where} is nested more than {DEEPEST} levels deep; flatten it.")


def check_json(value: object, where: str, depth: int = 0) -> JsonValue:
    """Return `value` as plain JSON of any size."""
    check_depth(where, depth)
    if value is None or isinstance(value, str | int | float):
        return check_scalar(value, where)
    if isinstance(value, list | tuple):
        return [check_json(item, f"{where}[{n}]", depth + 1) for n, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {
            _key(key, where): check_json(item, f"{where}[{key!r}]", depth + 1)
            for key, item in value.items()
        }
    raise XComError(
        f"{where} is of type {type(value).__name__}, which is not JSON. Use None, True, False, "
        "numbers, strings, lists and dictionaries; write a date as text with isoformat()."
    )


def check_scalar(value: float | str | None, where: str) -> float | str | None:
    """Return a value that holds no other as plain JSON."""
    if value is None or isinstance(value, bool):
        return value
    return _text(value, where) if isinstance(value, str) else _number(value, where)


def _text(value: str, where: str) -> str:
    # A string of a subclass, such as a member of a StrEnum, becomes a plain one.
    plain = str.__str__(value)
    if "\0" in plain:
        raise XComError(f"{where} holds a NUL character, which cannot be stored; remove it.")
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise XComError(f"{where} holds half a surrogate pair, which is no text.") from None
    return plain


def _number(value: float, where: str) -> int | float:
    if isinstance(value, int):
        if not SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
            raise XComError(f"{where} is an integer of more than 64 bits; pass it as a string.")
        return int(value)
    if not isfinite(value):
        raise XComError(f"{where} is {value}, which JSON does not have; use None instead.")
    return float(value)


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise XComError(f"{where} has the key {key!r}; JSON keys are strings: use {str(key)!r}.")
    return _text(key, f"{where}, in a key,")
