"""Fields of a form for the params of a DAG, each by the type of its default value."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headway.domain.arguments import JsonValue
from headway.domain.errors import RequestError

PREFIX: Final = "param."
"""With what the names of these fields begin."""


class FieldKind(StrEnum):
    """How a value is typed."""

    FLAG = "flag"
    NUMBER = "number"
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ParamField:
    """A param: what its field is called and shows, and whether that is its default value."""

    name: str
    kind: FieldKind
    shown: str
    default: str

    @property
    def has_lines(self) -> bool:
        """Whether it needs room for several lines."""
        return self.kind is FieldKind.JSON or "\n" in self.default

    @property
    def field(self) -> str:
        """The name of the field."""
        return PREFIX + self.name


def param_fields(params: Mapping[str, JsonValue], given: Mapping[str, str]) -> list[ParamField]:
    """Return the fields of all params, with what was typed, or else with their defaults."""
    found = []
    for name, default in params.items():
        kind, text = _kind(default), _text(default)
        # Browsers send the end of a line as two characters.
        shown = given.get(PREFIX + name, text).replace("\r\n", "\n")
        found.append(ParamField(name, kind, shown, text))
    return found


def typed(params: Mapping[str, JsonValue], given: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return the values that differ from the defaults; RequestError for what is of another type."""
    found: dict[str, JsonValue] = {}
    for field in param_fields(params, given):
        if field.shown != field.default:
            value = _value(field)
            if value != params[field.name] or type(value) is not type(params[field.name]):
                found[field.name] = value
    return found


def _kind(default: JsonValue) -> FieldKind:
    if isinstance(default, bool):
        return FieldKind.FLAG
    if isinstance(default, int | float):
        return FieldKind.NUMBER
    return FieldKind.TEXT if isinstance(default, str) else FieldKind.JSON


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _value(field: ParamField) -> JsonValue:
    if field.kind is FieldKind.TEXT:
        return field.shown
    try:
        found: JsonValue = json.loads(field.shown)
    except (ValueError, RecursionError) as error:
        what = "a number" if field.kind is FieldKind.NUMBER else "JSON"
        raise RequestError(f"{field.name} is {what}, not {field.shown!r}.") from error
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if field.kind is FieldKind.NUMBER and not is_number:
        raise RequestError(f"{field.name} is a number, not {field.shown!r}.")
    if field.kind is FieldKind.FLAG and not isinstance(found, bool):
        raise RequestError(f"{field.name} is true or false, not {field.shown!r}.")
    return found
