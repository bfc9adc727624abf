"""Paths in object stores in XComs: a URL, and the id of the connection to reach it by."""

from typing import Any

from headway.domain.arguments import JsonValue, ObjectUrl
from headway.sdk.exceptions import XComError


def encode_url(value: object, where: str) -> dict[str, JsonValue] | None:
    """Return a path in an object store as a tagged map; None for any other value."""
    if not isinstance(value, ObjectUrl):
        return None
    try:
        return value.as_data()
    except ValueError as error:
        raise XComError(f"{where} {error}.") from None


def decode_url(data: dict[str, Any]) -> object:
    """Return the path: it asks for its connection when it is used."""
    from headway.sdk.storage.path import ObjectStoragePath

    return ObjectStoragePath(data["value"], conn_id=data["conn_id"])
