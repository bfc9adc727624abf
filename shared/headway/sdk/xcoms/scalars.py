"""Values in XComs that hold no others: decimals, bytes, UUIDs, paths and numbers of numpy."""

import sys
from base64 import b64decode, b64encode
from decimal import Decimal
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Final
from uuid import UUID

from headway.domain.arguments import TAG, JsonValue
from headway.domain.xcoms import BINARY, XComKind

_NUMBERS: Final = "biuf"
_TIMES: Final = "Mm"
"""Kinds of numpy's data types: of numbers, and of dates and durations."""

_LARGEST: Final = 8
"""Bytes of a number of numpy that Python has a number for."""


def encode_scalar(value: object) -> dict[str, JsonValue] | None:
    """Return such a value as a tagged map; None for any other value."""
    if isinstance(value, Decimal):
        return {TAG: str(XComKind.DECIMAL), "value": str(value)}
    if isinstance(value, bytes):
        return {TAG: str(XComKind.BYTES), BINARY: b64encode(value).decode()}
    if isinstance(value, UUID):
        return {TAG: str(XComKind.UUID), "value": str(value)}
    if type(value) is type(Path()):
        return {TAG: str(XComKind.PATH), "value": str(value)}
    if type(value) is PurePosixPath:
        return {TAG: str(XComKind.PURE_PATH), "value": str(value)}
    return None


def decode_bytes(data: dict[str, Any]) -> bytes:
    """Return the bytes."""
    return b64decode(data[BINARY], validate=True)


def decode_decimal(data: dict[str, Any]) -> Decimal:
    """Return the number."""
    return Decimal(data["value"])


def decode_uuid(data: dict[str, Any]) -> UUID:
    """Return the UUID."""
    return UUID(data["value"])


def decode_path(data: dict[str, Any]) -> Path:
    """Return the path."""
    return Path(data["value"])


def decode_pure_path(data: dict[str, Any]) -> PurePath:
    """Return the path."""
    return PurePosixPath(data["value"])


def encode_numpy(value: Any) -> dict[str, JsonValue] | None:
    """Return a number, a date or a duration of numpy as a tagged map; None for any other value."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    kind, name = value.dtype.kind, value.dtype.str
    found: dict[str, JsonValue] = {TAG: str(XComKind.NUMPY), "dtype": name}
    if kind in _NUMBERS and value.dtype.itemsize <= _LARGEST:
        return {**found, "value": value.item()}
    if kind in _TIMES:
        return {**found, "value": str(value), "ticks": int(value.astype("int64"))}
    return None


def decode_numpy(data: dict[str, Any]) -> object:
    """Return the number, the date or the duration of numpy."""
    import numpy

    dtype: Any = numpy.dtype(data["dtype"])
    if dtype.kind in _TIMES:
        return numpy.asarray(data["ticks"], "int64").view(dtype)[()]
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"{data['dtype']!r} is no type of a number")
    return dtype.type(data["value"])
