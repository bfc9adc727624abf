"""Check a value by a schema, and say what is wanted instead."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, Final, TypeAlias

from headway.domain.arguments import JsonValue
from headway.domain.errors import brief
from headway.domain.schemas.formats import FORMATS
from headway.domain.schemas.keywords import TYPES, is_number
from headway.domain.schemas.patterns import matches

Schema: TypeAlias = "JsonValue | Mapping[str, JsonValue]"

_MOST_SHOWN: Final = 12
"""How many of the values that may be chosen a message names."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """A part of a value that is not as its schema wants it: where it is, and what is wanted."""

    path: str
    value: JsonValue
    wanted: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a keyword wants of values of a kind; of all others it wants nothing."""

    concerns: Callable[[Any], bool]
    holds: Callable[[Any, Any], bool]
    wanted: Callable[[Any], str]


def unmet(value: JsonValue, schema: Schema, path: str = "") -> Unmet | None:
    """Return the first part of a value that is not as the schema wants it; None if all is."""
    if not isinstance(schema, Mapping):
        return Unmet(path, value, "left out") if schema is False else None
    for keyword, rule in _RULES.items():
        if keyword in schema and rule.concerns(value) and not rule.holds(value, schema[keyword]):
            return Unmet(path, value, rule.wanted(schema[keyword]))
    return _inside(value, schema, path) or _combined(value, schema, path)


def types_of(schema: Mapping[str, JsonValue]) -> list[str]:
    """Return the types that a schema allows; none if it does not say."""
    given = schema.get("type", [])
    return [str(name) for name in given] if isinstance(given, list) else [str(given)]


def same(one: JsonValue, other: JsonValue) -> bool:
    """Tell whether two values are the same as JSON: 1 is 1.0, and true is not 1."""
    return _canonical(one) == _canonical(other)


def _canonical(value: JsonValue) -> object:
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {name: _canonical(item) for name, item in value.items()}
    return ("flag", value) if isinstance(value, bool) else value


def _inside(value: JsonValue, schema: Mapping[str, JsonValue], path: str) -> Unmet | None:
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            if found := unmet(item, schema["items"], f"{path}[{number}]"):
                return found
    if isinstance(value, dict):
        named = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        for name, item in value.items():
            own = named.get(name, others) if isinstance(named, dict) else others
            if found := unmet(item, own, f"{path}[{name!r}]"):
                return found
    return None


def _combined(value: JsonValue, schema: Mapping[str, JsonValue], path: str) -> Unmet | None:
    for inner in _schemas(schema, "allOf"):
        if found := unmet(value, inner, path):
            return found
    for keyword in ("anyOf", "oneOf"):
        choices = _schemas(schema, keyword)
        failed = [found for inner in choices if (found := unmet(value, inner, path))]
        if choices and len(failed) == len(choices):
            return Unmet(path, value, " or ".join(dict.fromkeys(map(_nested, failed))))
        if keyword == "oneOf" and choices and len(failed) < len(choices) - 1:
            return Unmet(path, value, "one of its alternatives alone, and is several")
    return None


def _nested(found: Unmet) -> str:
    return f"{found.wanted} at {found.path}" if found.path else found.wanted


def _schemas(schema: Mapping[str, JsonValue], keyword: str) -> list[JsonValue]:
    given = schema.get(keyword)
    return given if isinstance(given, list) else []


def has_type(value: JsonValue, wanted: str | list[str]) -> bool:
    """Tell whether a value is of that type, or of one of these."""
    return any(_IS[name](value) for name in ([wanted] if isinstance(wanted, str) else wanted))


def _is_whole(value: JsonValue) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool)


_IS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_whole,
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _shown_types(wanted: str | list[str]) -> str:
    return " or ".join(TYPES[name] for name in ([wanted] if isinstance(wanted, str) else wanted))


def _shown_choices(wanted: list[JsonValue]) -> str:
    shown = ", ".join(brief(item) for item in wanted[:_MOST_SHOWN])
    more = len(wanted) - _MOST_SHOWN
    return f"one of {shown} and {more} more" if more > 0 else f"one of {shown}"


def _are_unique(value: list[JsonValue], wanted: bool) -> bool:
    texts = {json.dumps(_canonical(item), sort_keys=True) for item in value}
    return not wanted or len(texts) == len(value)


def _divides(value: float, step: float) -> bool:
    return isfinite(value) and Fraction(str(value)) % Fraction(str(step)) == 0


_RULES: Final[Mapping[str, _Rule]] = {
    "type": _Rule(lambda _: True, has_type, _shown_types),
    "enum": _Rule(
        lambda _: True, lambda value, some: any(same(value, it) for it in some), _shown_choices
    ),
    "const": _Rule(lambda _: True, same, brief),
    "minimum": _Rule(is_number, lambda value, it: value >= it, lambda it: f"at least {it}"),
    "maximum": _Rule(is_number, lambda value, it: value <= it, lambda it: f"at most {it}"),
    "exclusiveMinimum": _Rule(is_number, lambda value, it: value > it, lambda it: f"above {it}"),
    "exclusiveMaximum": _Rule(is_number, lambda value, it: value < it, lambda it: f"below {it}"),
    "multipleOf": _Rule(is_number, _divides, lambda it: f"a multiple of {it}"),
    "minLength": _Rule(
        _IS["string"],
        lambda value, it: len(value) >= it,
        lambda it: f"text of at least {it} characters",
    ),
    "maxLength": _Rule(
        _IS["string"],
        lambda value, it: len(value) <= it,
        lambda it: f"text of at most {it} characters",
    ),
    "pattern": _Rule(
        _IS["string"],
        lambda value, it: matches(it, value),
        lambda it: f"text in which the pattern {it} is found",
    ),
    "format": _Rule(
        _IS["string"], lambda value, it: FORMATS[it][1](value), lambda it: FORMATS[it][0]
    ),
    "minItems": _Rule(
        _IS["array"],
        lambda value, it: len(value) >= it,
        lambda it: f"a list of at least {it} items",
    ),
    "maxItems": _Rule(
        _IS["array"],
        lambda value, it: len(value) <= it,
        lambda it: f"a list of at most {it} items",
    ),
    "uniqueItems": _Rule(_IS["array"], _are_unique, lambda _: "a list without repeated items"),
    "required": _Rule(
        _IS["object"],
        lambda value, it: all(name in value for name in it),
        lambda it: f"an object with {', '.join(it)}",
    ),
    "minProperties": _Rule(
        _IS["object"],
        lambda value, it: len(value) >= it,
        lambda it: f"an object of at least {it} entries",
    ),
    "maxProperties": _Rule(
        _IS["object"],
        lambda value, it: len(value) <= it,
        lambda it: f"an object of at most {it} entries",
    ),
}
"""What the keywords want that are about a value itself, the most telling first."""
