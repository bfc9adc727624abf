"""What a schema may say, and whether one says it rightly."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError, brief
from headway.domain.schemas.formats import FORMATS

TYPES: Final[Mapping[str, str]] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
"""The types of JSON, in words."""

REFUSED: Final[Mapping[str, str]] = {
    "custom_html_form": "there is no custom_html_form; say by type, enum and format what it is.",
    "$ref": "there is no $ref; write the schema in its place.",
    "patternProperties": "there is no patternProperties; use additionalProperties.",
    "not": "there is no 'not'; say by enum, pattern or anyOf what is wanted.",
    "if": "there is no 'if'; use anyOf.",
    "prefixItems": "there is no prefixItems; use items, or an object with properties.",
    "contentMediaType": "there is no contentMediaType; leave it out.",
}
"""What JSON schema or Airflow have and Headway has not, and what to write instead."""


def is_number(value: object) -> bool:
    """Tell whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_schema(value: object) -> bool:
    return isinstance(value, dict | bool)


def _are(kind: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(kind, value))


def _map_of(kind: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(kind, value.values()))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_type(value: object) -> bool:
    return isinstance(value, str) and value in TYPES


_TEXT: Final = ("text", _is_text)
_NUMBER: Final = ("a number", is_number)
_COUNT: Final = ("a whole number from 0 on", _is_count)
_SCHEMAS: Final = ("a list of schemas", _are(_is_schema))
_ANY: Final = ("a value", lambda _: True)
_NAMES: Final = ("a list of names", lambda value: value == [] or _are(_is_text)(value))

KEYWORDS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "type": (
        f"of {', '.join(TYPES)}, or a list of these",
        lambda value: _is_type(value) or _are(_is_type)(value),
    ),
    "enum": ("a list of values", _are(lambda _: True)),
    "const": _ANY,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "multipleOf": ("a number above 0", lambda value: is_number(value) and value > 0),
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "pattern": _TEXT,
    "format": (
        f"of {', '.join(FORMATS)}",
        lambda value: isinstance(value, str) and value in FORMATS,
    ),
    "items": ("a schema", _is_schema),
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "uniqueItems": ("true or false", lambda value: isinstance(value, bool)),
    "properties": ("a map of schemas", _map_of(_is_schema)),
    "additionalProperties": ("a schema, true or false", _is_schema),
    "required": _NAMES,
    "minProperties": _COUNT,
    "maxProperties": _COUNT,
    "anyOf": _SCHEMAS,
    "oneOf": _SCHEMAS,
    "allOf": _SCHEMAS,
    "title": _TEXT,
    "description": _TEXT,
    "description_md": _TEXT,
    "section": _TEXT,
    "examples": ("a list of values", lambda value: isinstance(value, list)),
    "values_display": ("a map of texts", _map_of(_is_text)),
    "default": _ANY,
    "$schema": _TEXT,
    "$comment": _TEXT,
}
"""What each keyword wants.  Those from title on check nothing: they are for who reads them."""


def check_schema(schema: JsonValue | Mapping[str, JsonValue], where: str) -> None:
    """Refuse a schema that says what Headway cannot check, or says it wrongly."""
    if not isinstance(schema, Mapping):
        return
    for keyword, argument in schema.items():
        if keyword not in KEYWORDS:
            _unknown(keyword, where)
        wanted, holds = KEYWORDS[keyword]
        if not holds(argument):
            raise DagError(f"{where}: {keyword} must be {wanted}, not {brief(argument)}.")
    for place, inner in parts(schema):
        check_schema(inner, f"{where}: {place}")


def parts(schema: Mapping[str, JsonValue]) -> list[tuple[str, JsonValue]]:
    """Return the schemas inside a schema, each with its place."""
    found: list[tuple[str, JsonValue]] = []
    for keyword, argument in schema.items():
        if keyword in {"items", "additionalProperties"}:
            found.append((keyword, argument))
        elif keyword in {"anyOf", "oneOf", "allOf"} and isinstance(argument, list):
            found += [(f"{keyword}[{number}]", inner) for number, inner in enumerate(argument)]
        elif keyword == "properties" and isinstance(argument, dict):
            found += [(f"properties[{name!r}]", inner) for name, inner in argument.items()]
    return found


def _unknown(keyword: str, where: str) -> NoReturn:
    if keyword in REFUSED:
        raise DagError(f"{where}: {REFUSED[keyword]}")
    near = get_close_matches(keyword, KEYWORDS)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(KEYWORDS)}."
    raise DagError(f"{where} does not know the keyword {keyword!r}; {hint}")
