"""What fits a schema: as the reference validator has it, and in words that say what is wanted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from headway.domain.arguments import JsonValue
from headway.domain.schemas.keywords import TYPES, check_schema
from headway.domain.schemas.matching import Unmet, has_type, same, unmet

SMALL = st.integers(-3, 3)
SCALARS = (
    st.none()
    | st.booleans()
    | SMALL
    | st.sampled_from([0.5, 1.0, 2.5])
    | st.text("ab1", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=5,
)
COUNT = st.integers(0, 3)
NULL: JsonValue = {"type": "null"}
CLOSED: JsonValue = {"additionalProperties": False}
BOUND = SMALL | st.sampled_from([0.5, 1.5])
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(list(TYPES)) | st.lists(st.sampled_from(list(TYPES)), min_size=1),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "minimum": BOUND,
    "maximum": BOUND,
    "exclusiveMinimum": BOUND,
    "exclusiveMaximum": BOUND,
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    "minLength": COUNT,
    "maxLength": COUNT,
    "pattern": st.sampled_from(["a", "^b", "1$", "a.b", "[ab]{2}"]),
    "minItems": COUNT,
    "maxItems": COUNT,
    "uniqueItems": st.booleans(),
    "required": st.lists(st.sampled_from("ab"), max_size=2),
    "minProperties": COUNT,
    "maxProperties": COUNT,
}
LEAF = st.fixed_dictionaries({}, optional=LEAVES)
SCHEMAS = st.recursive(
    LEAF | st.booleans(),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "items": inner,
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "additionalProperties": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=3),
            "type": st.sampled_from(list(TYPES)),
        },
    ),
    max_leaves=4,
)


@given(VALUES, SCHEMAS)
def test_what_fits_is_what_the_reference_says(value: Any, schema: Any) -> None:
    check_schema(schema, "The schema")

    assert (unmet(value, schema) is None) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("keyword", list(LEAVES))
@given(data=st.data())
def test_each_keyword_alone_is_as_the_reference_has_it(keyword: str, data: st.DataObject) -> None:
    schema = {keyword: data.draw(LEAVES[keyword])}
    value = data.draw(VALUES)

    assert (unmet(value, schema) is None) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("value", "schema", "path", "wanted"),
    [
        ("x", {"type": "integer"}, "", "a whole number"),
        (True, {"type": ["integer", "null"]}, "", "a whole number or null"),
        (300, {"maximum": 128}, "", "at most 128"),
        ("c", {"enum": ["a", 1, None]}, "", "one of 'a', 1, None"),
        (99, {"enum": [*range(14)]}, "", f"one of {', '.join(map(str, range(12)))} and 2 more"),
        ("x", {"const": "y"}, "", "'y'"),
        ("ab", {"minLength": 3}, "", "text of at least 3 characters"),
        ("ab", {"pattern": "^x"}, "", "text in which the pattern ^x is found"),
        ("soon", {"format": "date"}, "", "a date such as 2024-05-01"),
        ([1, "x"], {"items": {"type": "number"}}, "[1]", "a number"),
        ({"a": 1}, {"required": ["a", "b"]}, "", "an object with a, b"),
        ({"a": {"b": 1}}, {"properties": {"a": CLOSED}}, "['a']['b']", "left out"),
        ("x", {"anyOf": [NULL, {"minLength": 2}]}, "", "null or text of at least 2 characters"),
        ([1], {"anyOf": [{"items": NULL}, NULL]}, "", "null at [0] or null"),
        (1, {"oneOf": [{"minimum": 0}, {}]}, "", "one of its alternatives alone, and is several"),
    ],
)
def test_what_is_wanted_is_said_in_words(
    value: JsonValue, schema: JsonValue, path: str, wanted: str
) -> None:
    found = unmet(value, schema)

    assert isinstance(found, Unmet)
    assert (found.path, found.wanted) == (path, wanted)


def test_numbers_that_json_does_not_have_are_no_whole_ones() -> None:
    for value in (float("inf"), float("nan")):
        assert not has_type(value, "integer")
        assert unmet(value, {"multipleOf": 2}) is not None


def test_the_same_is_told_from_what_python_takes_for_equal() -> None:
    assert same([1, {"a": 2}], [1.0, {"a": 2}])
    assert not same([True], [1])
