"""Schemas that cannot be checked are refused, with what to write instead."""

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError
from headway.domain.schemas.keywords import check_schema
from headway.domain.schemas.patterns import check_patterns, matches


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"minimun": 3}, "p does not know the keyword 'minimun'; did you mean minimum"),
        ({"zzz": 3}, "p does not know the keyword 'zzz'; known: type, enum"),
        ({"custom_html_form": "<b>"}, "p: there is no custom_html_form; say by type"),
        ({"$ref": "#"}, r"p: there is no \$ref"),
        ({"type": "text"}, "p: type must be of string, .* not 'text'"),
        ({"type": []}, "p: type must be"),
        ({"enum": []}, r"p: enum must be a list of values, not \[\]"),
        ({"minimum": True}, "p: minimum must be a number, not True"),
        ({"multipleOf": 0}, "p: multipleOf must be a number above 0"),
        ({"minLength": -1}, "p: minLength must be a whole number from 0 on"),
        ({"format": "hostname"}, "p: format must be of date, .* not 'hostname'"),
        ({"required": [1]}, "p: required must be a list of names"),
        ({"values_display": {"a": 1}}, "p: values_display must be a map of texts"),
        ({"items": {"type": "x"}}, "p: items: type must be"),
        ({"properties": {"a": {"typo": 1}}}, r"p: properties\['a'\] does not know"),
        ({"anyOf": [True, {"maximum": "x"}]}, r"p: anyOf\[1\]: maximum must be a number"),
    ],
)
def test_a_wrong_schema_is_refused(schema: JsonValue, message: str) -> None:
    with pytest.raises(DagError, match=message):
        check_schema(schema, "p")


def test_what_is_for_people_checks_nothing() -> None:
    check_schema(
        {"title": "T", "section": "S", "examples": [1], "values_display": {"1": "one"}}, "p"
    )


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "("])
def test_a_pattern_that_may_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(DagError, match=r"p: items: the pattern .* cannot be used; write"):
        check_patterns({"items": {"pattern": pattern}}, "p")


def test_a_pattern_takes_linear_time() -> None:
    """Python's own would not come back from this one."""
    check_patterns({"pattern": "^(a+)+$"}, "p")
    assert not matches("^(a+)+$", "a" * 10_000 + "b")
