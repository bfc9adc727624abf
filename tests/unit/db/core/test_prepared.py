"""How statements are written that prepare and execute others."""

from datetime import UTC, datetime

import pytest

from headway.db.core.prepared import array, literals, prepare


def test_parameters_are_numbered_as_they_come_and_a_percent_sign_is_one() -> None:
    made = prepare("SELECT %(b)s, %(a)s, %(b)s WHERE 'x' LIKE 'x%%'")

    assert made.prepare == f"PREPARE {made.name} AS SELECT $1, $2, $1 WHERE 'x' LIKE 'x%'"
    assert made.execute == f"EXECUTE {made.name} (%(b)s, %(a)s)"


def test_without_parameters_there_are_no_arguments() -> None:
    made = prepare("SELECT 1")

    assert made.execute == f"EXECUTE {made.name}"


def test_no_two_have_the_same_name() -> None:
    assert prepare("SELECT 1").name != prepare("SELECT 1").name


def test_a_list_has_no_type_of_its_own() -> None:
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)

    assert array([]) == "{}"
    assert array([1, None, 2.5, True]) == "{1,NULL,2.5,true}"
    assert array(['a"b', "c\\d", "e,f", ""]) == '{"a\\"b","c\\\\d","e,f",""}'
    assert array([noon]) == '{"2024-01-01T12:00:00+00:00"}'
    assert literals({"ids": [1, 2], "now": noon, "name": "x", "share": 0.4}) == {
        "ids": "{1,2}",
        "now": noon,
        "name": "x",
        "share": "0.4",
    }


@pytest.mark.parametrize("value", [b"x", {"a": 1}, [1]])
def test_what_has_no_such_form_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=type(value).__name__):
        array([value])
