"""Fields of params: what was typed has the type that the schema or the default has."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.arguments import JsonValue
from headway.domain.dag.params import KnownParam
from headway.domain.errors import RequestError
from headway.domain.schemas.matching import same
from headway_api.pages.dags.param_fields import PREFIX, ParamField, in_sections, param_fields, typed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
PARAMS = st.dictionaries(st.text(min_size=1, max_size=5), VALUES, max_size=4)
TYPES = ["string", "integer", "number", "boolean", "array", "object", "null"]
NULLABLE = ["string", "null"]
LISTED: Mapping[str, JsonValue] = {
    "type": "array",
    "examples": ["x", "y"],
    "values_display": {"y": "Why"},
}


def plain(params: Mapping[str, JsonValue]) -> list[KnownParam]:
    return [KnownParam(name, value, True, {}, None) for name, value in params.items()]


def declared(value: JsonValue = None, /, *, missing: bool = False, **schema: Any) -> KnownParam:
    return KnownParam("p", value, not missing, schema, None)


def field(param: KnownParam) -> ParamField:
    (found,) = param_fields([param], {})
    return found


def same_type(one: JsonValue, other: JsonValue) -> bool:
    return type(one) is type(other)


@given(PARAMS)
def test_what_is_left_as_it_is_shown_is_not_sent(params: dict[str, JsonValue]) -> None:
    shown = {field.field: field.shown for field in param_fields(plain(params), {})}
    assert typed(plain(params), shown) == {}
    assert typed(plain(params), {}) == {}


@given(VALUES, st.lists(st.sampled_from(TYPES), min_size=1), st.booleans())
def test_what_is_declared_and_left_is_not_sent(
    value: JsonValue, types: list[str], missing: bool
) -> None:
    param = declared(value, missing=missing, type=types)
    assert typed([param], {PREFIX + "p": field(param).shown}) == {}


@given(PARAMS, st.data())
def test_another_value_of_the_same_type_is_sent(
    params: dict[str, JsonValue], data: st.DataObject
) -> None:
    for name, default in params.items():
        wanted = data.draw(VALUES.filter(partial(same_type, default)))
        text = wanted if isinstance(wanted, str) else json.dumps(wanted)
        sent = typed(plain(params), {PREFIX + name: text})
        assert sent == ({} if same(wanted, default) else {name: wanted})


@pytest.mark.parametrize(
    ("default", "text"), [(1, "x"), (1, "true"), (1.5, '"a"'), (True, "1"), ([], "["), (None, "")]
)
def test_another_type_is_refused_by_name(default: JsonValue, text: str) -> None:
    with pytest.raises(RequestError, match=r"^limit is "):
        typed(plain({"limit": default}), {PREFIX + "limit": text})


def test_a_number_may_have_a_fraction() -> None:
    assert typed(plain({"limit": 1}), {PREFIX + "limit": "1.5"}) == {"limit": 1.5}


@pytest.mark.parametrize(
    ("param", "kind", "shown", "text", "value"),
    [
        (declared(3, type="integer"), "number", "3", "4", 4),
        (declared(missing=True, type="number"), "number", "", "4.5", 4.5),
        (declared(True, type="boolean"), "flag", "true", "false", False),
        (declared(missing=True, type="boolean"), "choice", "", "false", False),
        (declared(True, type=["boolean", "null"]), "choice", "true", "null", None),
        (declared("a", type="string"), "text", "a", "", ""),
        (declared("a", type=NULLABLE), "text", "a", "", None),
        (declared(None, type=NULLABLE), "text", "", "b", "b"),
        (declared(None, type="string"), "text", "", "b", "b"),
        (declared("x", enum=["x", "y"]), "choice", '"x"', '"y"', "y"),
        (declared(3, enum=[3, None], type=["number", "null"]), "choice", "3", "null", None),
        (declared("2024-05-01", type="string", format="date"), "date", "2024-05-01", "x", "x"),
        (declared("06:30", type=NULLABLE, format="time"), "time", "06:30", "", None),
        (
            declared("2024-05-01T08:00:00+02:00", type="string", format="date-time"),
            "datetime-local",
            "2024-05-01T06:00:00",
            "2024-05-02T06:00",
            "2024-05-02T06:00:00+00:00",
        ),
        (declared(["a", "b"], type="array"), "lines", "a\nb", "a\r\nc\r\n", ["a", "c"]),
        (declared(["a"], type="array", items={"type": "string"}), "lines", "a", "", []),
        (declared([1], type="array"), "json", "[1]", '["a"]', ["a"]),
        (declared([1], type="array", items={"type": "number"}), "json", "[1]", "[2]", [2]),
        (declared({"a": 1}, type=["object", "null"]), "json", '{"a": 1}', "", None),
        (declared(1000, type=["integer", "string"]), "loose", "1000", "all", "all"),
        (declared("all", type=["integer", "string"]), "loose", "all", "5", 5),
        (declared("5", type=["integer", "string"]), "loose", '"5"', "true", "true"),
    ],
)  # fmt: skip
def test_what_is_declared_says_how_it_is_typed(
    param: KnownParam, kind: str, shown: str, text: str, value: JsonValue
) -> None:
    assert (field(param).kind, field(param).shown) == (kind, shown)
    assert typed([param], {PREFIX + "p": text}) == {"p": value}


def test_the_same_moment_is_no_other_value() -> None:
    param = declared("2024-05-01T08:00:00+02:00", type="string", format="date-time")
    assert typed([param], {PREFIX + "p": "2024-05-01T06:00"}) == {}


def test_what_is_missing_and_left_empty_is_not_sent() -> None:
    for types in ("string", "integer", "boolean", "array", "object"):
        assert typed([declared(missing=True, type=types)], {PREFIX + "p": ""}) == {}


def test_choices_have_labels_and_one_for_none() -> None:
    param = declared(1, enum=[1, 2], type=["integer", "null"], values_display={"1": "One"})
    found = [(choice.value, choice.label) for choice in field(param).choices]
    assert found == [("1", "One"), ("2", "2"), ("null", "null")]
    missing = field(declared(missing=True, enum=["a"])).choices
    assert [(choice.value, choice.label) for choice in missing] == [("", ""), ('"a"', "a")]
    odd = field(declared("z", enum=["a"])).choices[0]
    assert (odd.value, odd.label) == ('"z"', "z")


def test_a_constant_has_no_field() -> None:
    assert param_fields([declared("x", const="x")], {}) == []


def test_titles_sections_and_hints() -> None:
    fields = param_fields(
        [
            KnownParam("a", 1, True, {"section": "More"}, "How many."),
            KnownParam("b", 1, True, {"title": "Bee"}, None),
            KnownParam("c", ["x"], True, {"section": "More", **LISTED}, None),
        ],
        {},
    )
    sections = in_sections(fields)
    assert {name: [each.title for each in found] for name, found in sections.items()} == {
        "More": ["a", "c"],
        "": ["Bee"],
    }
    assert [each.hints for each in fields] == [
        "How many",
        "",
        "One a line. For example: x, y (Why)",
    ]
    assert (fields[0].step, field(declared(1, type="integer")).step) == ("any", "1")
