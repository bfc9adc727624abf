"""Patterns of text, matched in linear time: neither a pattern nor a text can hold a service up."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError
from headway.domain.schemas.keywords import parts

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

_KEPT: Final = 256
"""How many patterns are kept ready."""


def matches(pattern: str, text: str) -> bool:
    """Tell whether the pattern is found in the text, as JSON schema has it: anywhere."""
    return bool(_compiled(pattern).isinstance_python(text))


def check_patterns(schema: JsonValue | Mapping[str, JsonValue], where: str) -> None:
    """Refuse a pattern that is none, or that cannot be matched in linear time."""
    if not isinstance(schema, Mapping):
        return
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        _check(pattern, where)
    for place, inner in parts(schema):
        check_patterns(inner, f"{where}: {place}")


def _check(pattern: str, where: str) -> None:
    from pydantic_core import SchemaError

    try:
        _compiled(pattern)
    except SchemaError:
        raise DagError(
            f"{where}: the pattern {pattern!r} cannot be used; write a regular expression "
            "without look-around and back references."
        ) from None


@lru_cache(_KEPT)
def _compiled(pattern: str) -> "SchemaValidator":
    # It takes longer to import than all of a usual DAG file, and few params have a pattern.
    from pydantic_core import SchemaValidator

    return SchemaValidator({"type": "str", "pattern": pattern, "regex_engine": "rust-regex"})
