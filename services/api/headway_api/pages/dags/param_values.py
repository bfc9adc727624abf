"""Values of params as text in fields of a form, and back."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from headway.domain.arguments import JsonValue
from headway.domain.dag.params import KnownParam
from headway.domain.errors import RequestError
from headway.domain.schemas.matching import has_type, types_of
from headway_api.pages.frame.fields import date


class FieldKind(StrEnum):
    """How a value is typed."""

    FLAG = "flag"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"
    DATE = "date"
    TIME = "time"
    MOMENT = "datetime-local"
    LINES = "lines"
    LOOSE = "loose"
    JSON = "json"


_FORMATS: Final[Mapping[str, FieldKind]] = {
    "date": FieldKind.DATE,
    "time": FieldKind.TIME,
    "date-time": FieldKind.MOMENT,
}
_NUMBERS: Final[Mapping[str, FieldKind]] = {
    "integer": FieldKind.NUMBER,
    "number": FieldKind.NUMBER,
}


def kind_of(param: KnownParam) -> FieldKind:
    """Return how the values of a param are typed: by its schema, or else by its default."""
    types = [name for name in types_of(param.schema) if name != "null"]
    if "enum" in param.schema:
        return FieldKind.CHOICE
    if not types:
        return _by_default(param.value)
    if len(types) == 1:
        return _of_type(types[0], param)
    return FieldKind.LOOSE if "string" in types else FieldKind.JSON


def _of_type(name: str, param: KnownParam) -> FieldKind:
    if name == "boolean":
        is_set = isinstance(param.value, bool) and not has_null(param)
        return FieldKind.FLAG if is_set else FieldKind.CHOICE
    if name == "array":
        return FieldKind.LINES if _is_of_lines(param) else FieldKind.JSON
    if name == "string":
        return _FORMATS.get(str(param.schema.get("format")), FieldKind.TEXT)
    return _NUMBERS.get(name, FieldKind.JSON)


def has_null(param: KnownParam) -> bool:
    """Tell whether the schema allows null."""
    return "null" in types_of(param.schema)


def text_of(kind: FieldKind, value: JsonValue) -> str:
    """Return how a field shows a value."""
    if kind in {FieldKind.CHOICE, FieldKind.JSON}:
        return json.dumps(value)
    if value is None:
        return ""
    if kind is FieldKind.LINES and isinstance(value, list):
        return "\n".join(map(str, value))
    if not isinstance(value, str):
        return json.dumps(value)
    if kind is FieldKind.MOMENT:
        return _moment(value)
    return json.dumps(value) if kind is FieldKind.LOOSE and _is_json(value) else value


def value_of(param: KnownParam, kind: FieldKind, text: str) -> JsonValue:
    """Return the value that was typed; RequestError for what is of another type."""
    if not text and has_null(param):
        return None
    if kind in {FieldKind.TEXT, FieldKind.DATE, FieldKind.TIME}:
        return text
    if kind is FieldKind.LINES:
        return list(text.rstrip("\n").split("\n")) if text else []
    if kind is FieldKind.MOMENT:
        found = date(text)
        return found.isoformat() if found else ""
    if kind is FieldKind.LOOSE:
        return _loose(param, text)
    return _parsed(param.name, kind, text)


def _by_default(value: JsonValue) -> FieldKind:
    if isinstance(value, bool):
        return FieldKind.FLAG
    if isinstance(value, int | float):
        return FieldKind.NUMBER
    return FieldKind.TEXT if isinstance(value, str) else FieldKind.JSON


def _is_of_lines(param: KnownParam) -> bool:
    """Tell whether a list can be typed as lines: it is of texts that are each one of some length.

    One that may be null is typed as JSON, which tells null from a list of nothing.
    """
    items = param.schema.get("items", {})
    typed = isinstance(items, Mapping) and types_of(items) in ([], ["string"])
    shown = param.value if isinstance(param.value, list) else []
    plain = all(isinstance(item, str) and item and item.isprintable() for item in shown)
    return typed and plain and not has_null(param)


def _moment(text: str) -> str:
    """Return a date and time as a browser has it: in UTC, and without a zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return ""
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).replace(tzinfo=None).isoformat()


def _loose(param: KnownParam, text: str) -> JsonValue:
    """Return the JSON that was typed if the param takes such, or else the text as it is."""
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if has_type(found, types_of(param.schema)) else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(name: str, kind: FieldKind, text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "a number" if kind is FieldKind.NUMBER else "JSON"
        raise RequestError(f"{name} is {what}, not {text!r}.") from error
    if kind is FieldKind.NUMBER and not has_type(found, "number"):
        raise RequestError(f"{name} is a number, not {text!r}.")
    if kind is FieldKind.FLAG and not isinstance(found, bool):
        raise RequestError(f"{name} is true or false, not {text!r}.")
    return found
