"""What plain JSON may be in an XCom, and what the errors name."""

from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from headway.sdk.exceptions import XComError
from headway.sdk.values.xcom import DEEPEST, check_json, check_size


class Color(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**63 - 1, 2**63 - 1),
        (1.5, 1.5),
        ("Zürich", "Zürich"),
        ((1, [2, (3,)]), [1, [2, [3]]]),
        ({"a": {"b": ()}}, {"a": {"b": []}}),
        ([Color.RED, Level.HIGH, {Color.RED: 1}], ["red", 3, {"red": 1}]),
    ],
)
def test_json_passes_as_plain_json(value: object, expected: object) -> None:
    checked: Any = check_json(value, "It")

    assert checked == expected
    assert type(checked) is type(expected)


def test_members_of_enumerations_become_plain() -> None:
    checked: Any = check_json([Color.RED, Level.HIGH], "It")

    assert [type(item) for item in checked] == [str, int]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rows": [1, {2}]}, r"^It\['rows'\]\[1\] is of type set, which is not JSON"),
        (datetime(2013, 1, 1, tzinfo=UTC), r"of type datetime.*isoformat"),
        (b"bytes", "of type bytes"),
        ([float("nan")], r"It\[0\] is nan, which JSON does not have; use None"),
        ([float("inf")], r"It\[0\] is inf"),
        ({1: "a"}, r"It has the key 1; JSON keys are strings: use '1'"),
        (2**63, "integer of more than 64 bits"),
        (-(2**63) - 1, "integer of more than 64 bits"),
        ("a\0b", "holds a NUL character"),
        ({"\0": 1}, "in a key, holds a NUL"),
        ("\ud800", "half a surrogate pair"),
    ],
)
def test_anything_else_is_refused_where_it_stands(value: object, message: str) -> None:
    with pytest.raises(XComError, match=message):
        check_json(value, "It")


def test_depth_is_limited_also_for_a_value_that_holds_itself() -> None:
    deep: list[object] = []
    for _ in range(DEEPEST):
        deep = [deep]
    check_json(deep, "It")
    loop: list[object] = []
    loop.append(loop)

    for value in ([deep], loop):
        with pytest.raises(XComError, match="nested more than 50 levels"):
            check_json(value, "It")


def test_size_is_counted_in_bytes_and_the_error_says_what_to_do() -> None:
    check_size("é" * 4, "It", limit=10)
    with pytest.raises(
        XComError,
        match=r"It has 12 bytes as JSON; an XCom may have 10\. Store large data in a file",
    ):
        check_size("é" * 5, "It", limit=10)
