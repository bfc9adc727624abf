"""What may be an XCom: JSON values of a limited size."""

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


def check_xcom(value: object, where: str = "The value", limit: int = XCOM_LIMIT) -> JsonValue:
    """Return `value` as plain JSON, or raise an XComError that names the offending part."""
    checked = check_json(value, where)
    size = len(json.dumps(checked, ensure_ascii=False).encode())
    if size > limit:
        raise XComError(
            f"{where} has {size:,} bytes as JSON; an XCom may have {limit:,}. "
            "Store large data in a file and return its path."
        )
    return checked


def check_json(value: object, where: str, depth: int = 0) -> JsonValue:
    """Return `value` as plain JSON of any size."""
    if depth > DEEPEST:
        raise XComError(f"{where} is nested more than {DEEPEST} levels deep; flatten it.")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, int | float):
        return _number(value, where)
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
