"""Fields of a form for the params of a DAG, each by its schema or the type of its default."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from headway.domain.arguments import JsonValue
from headway.domain.dag.params import KnownParam
from headway.domain.schemas.matching import same
from headway_api.pages.dags.param_values import (
    FieldKind,
    has_null,
    kind_of,
    text_of,
    value_of,
)

PREFIX: Final = "param."
"""With what the names of these fields begin."""

_WORDS: Final[Mapping[FieldKind, str]] = {
    FieldKind.JSON: "JSON",
    FieldKind.LINES: "One a line",
    FieldKind.LOOSE: "Text or JSON",
    FieldKind.MOMENT: "In UTC",
}
"""How what is typed in a field is read, where that is not plain."""


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """What may be chosen: its text in the form, and what people read."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class ParamField:
    """A param: what its field is called and shows, and whether that is its default value."""

    param: KnownParam
    kind: FieldKind
    shown: str
    default: str

    @property
    def name(self) -> str:
        """The name of the param."""
        return self.param.name

    @property
    def title(self) -> str:
        """What people call it."""
        return str(self.param.schema.get("title", self.name))

    @property
    def has_lines(self) -> bool:
        """Whether it needs room for several lines."""
        many = self.param.schema.get("format") == "multiline" or "\n" in self.default
        return self.kind in {FieldKind.JSON, FieldKind.LINES} or many

    @property
    def field(self) -> str:
        """The name of the field."""
        return PREFIX + self.name

    @property
    def step(self) -> str:
        """Which numbers a browser lets pass."""
        return "1" if self.param.schema.get("type") == "integer" else "any"

    @property
    def hints(self) -> str:
        """What people read beside it: what it is for, how it is typed, and what is usual."""
        several = self.suggestions if self.has_lines else []
        found = [
            self.param.told,
            _WORDS.get(self.kind, ""),
            f"For example: {', '.join(map(self._labelled, several))}" if several else "",
        ]
        return ". ".join(each.strip().removesuffix(".") for each in found if each)

    @property
    def choices(self) -> list[FieldChoice]:
        """What may be chosen; first what stands for no choice, if there is such."""
        listed = self.param.schema.get("enum", [True, False])
        values = list(listed) if isinstance(listed, list) else []
        if has_null(self.param) and None not in values:
            values.append(None)
        texts = [FieldChoice(json.dumps(value), self._label(value)) for value in values]
        known = any(choice.value == self.default for choice in texts)
        own = self._label(self.param.value) if self.default else ""
        return texts if known else [FieldChoice(self.default, own), *texts]

    @property
    def suggestions(self) -> list[str]:
        """Values that people may want."""
        given = self.param.schema.get("examples")
        return [_plain(value) for value in given] if isinstance(given, list) else []

    def _label(self, value: JsonValue) -> str:
        text = _plain(value)
        labels = self.param.schema.get("values_display")
        return str(labels.get(text, text)) if isinstance(labels, Mapping) else text

    def _labelled(self, text: str) -> str:
        label = self._label(text)
        return text if label == text else f"{text} ({label})"


def param_fields(params: Iterable[KnownParam], given: Mapping[str, str]) -> list[ParamField]:
    """Return the fields of params, with what was typed, or else with their defaults.

    A param that can have one value alone has none.
    """
    found = []
    for param in params:
        if "const" in param.schema:
            continue
        kind = kind_of(param)
        is_empty = not param.has_value or (param.value is None and not _has_none(kind, param))
        text = "" if is_empty else text_of(kind, param.value)
        # Browsers send the end of a line as two characters.
        shown = given.get(PREFIX + param.name, text).replace("\r\n", "\n")
        found.append(ParamField(param, kind, shown, text))
    return found


def in_sections(fields: Iterable[ParamField]) -> dict[str, list[ParamField]]:
    """Return the fields under the headings of their sections, in the order of the first of each."""
    found: dict[str, list[ParamField]] = {}
    for field in fields:
        found.setdefault(str(field.param.schema.get("section", "")), []).append(field)
    return found


def typed(params: Iterable[KnownParam], given: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return the values that differ from the defaults; RequestError for what is of another type."""
    found: dict[str, JsonValue] = {}
    for field in param_fields(params, given):
        if field.shown != field.default:
            value = value_of(field.param, field.kind, field.shown)
            if not _is_default(field, value):
                found[field.name] = value
    return found


def _plain(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _has_none(kind: FieldKind, param: KnownParam) -> bool:
    """Tell whether the field of a param shows that it is null."""
    return kind in {FieldKind.CHOICE, FieldKind.JSON} and (has_null(param) or not param.schema)


def _is_default(field: ParamField, value: JsonValue) -> bool:
    """Tell whether that is the default value, perhaps written in another way."""
    if not field.param.has_value:
        return False
    return same(value, field.param.value) or text_of(field.kind, value) == field.default
