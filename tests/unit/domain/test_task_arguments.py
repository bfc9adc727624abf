from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from pathlib import PurePosixPath
from uuid import UUID

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.arguments import (
    DEEPEST,
    TAG,
    JsonValue,
    XComReference,
    encode_argument,
)
from headway.domain.errors import DagError


class Color(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 2


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (-(2**63), -(2**63)),
        (2**63 - 1, 2**63 - 1),
        (1.5, 1.5),
        ("", ""),
        ("ä\0", "ä\0"),
        (Color.RED, "red"),
        (Level.HIGH, 2),
        ([1, [2]], [1, [2]]),
        ((1, (2,)), [1, [2]]),
        ({"a": {"b": ()}}, {"a": {"b": []}}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        ({3, 1}, {TAG: "set", "items": [1, 3]}),
        (frozenset("ba"), {TAG: "set", "items": ["a", "b"]}),
        (set(), {TAG: "set", "items": []}),
        (XComReference("t"), {TAG: "xcom", "task_id": "t", "key": "return_value"}),
        (XComReference("t", "k"), {TAG: "xcom", "task_id": "t", "key": "k"}),
        (time(15, 30), {TAG: "time", "value": "15:30:00"}),
        (timedelta(minutes=1.5), {TAG: "timedelta", "seconds": 90.0}),
        (
            datetime(2013, 1, 1, tzinfo=UTC),
            {TAG: "datetime", "value": "2013-01-01T00:00:00+00:00"},
        ),
        (
            datetime(2013, 1, 1, 6, tzinfo=timezone(timedelta(hours=-5))),
            {TAG: "datetime", "value": "2013-01-01T06:00:00-05:00"},
        ),
        (datetime(2013, 1, 1), {TAG: "datetime", "value": "2013-01-01T00:00:00"}),  # noqa: DTZ001
        (date(2013, 1, 1), {TAG: "date", "value": "2013-01-01"}),
        (PurePosixPath("/tmp"), {TAG: "path", "value": "/tmp"}),
        (Decimal("1.50"), {TAG: "decimal", "value": "1.50"}),
        (UUID(int=1), {TAG: "uuid", "value": "00000000-0000-0000-0000-000000000001"}),
        (
            {"up": [XComReference("t")]},
            {"up": [{TAG: "xcom", "task_id": "t", "key": "return_value"}]},
        ),
    ],
)
def test_what_has_a_form_as_data(value: object, encoded: JsonValue) -> None:
    assert encode_argument(value, "x") == encoded


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), r"^x is nan, which has no form as data; pass None instead\.$"),
        (float("-inf"), "^x is -inf, which has no form"),
        ([0, {"a": [float("inf")]}], r"^x\[1\]\['a'\]\[0\] is inf"),
        ({1: "a"}, r"^x has the key 1; the keys of a map must be strings"),
        ({"a": {None: 1}}, r"^x\['a'\] has the key None"),
        ({TAG: 1}, "^x uses the key '__headway__', which Headway keeps for itself"),
        (b"bytes", "^x is of type bytes"),
        ([object()], r"^x\[0\] is of type object"),
        ({object()}, r"^x is of type object"),
        (print, "^x is of type builtin_function_or_method"),
        (Color, "^x is of type EnumType"),
        (2**63, "^x is an integer of more than 64 bits; pass it as a string"),
        ([-(2**63) - 1], r"^x\[0\] is an integer of more than 64 bits"),
        ("\ud800", "^x holds half a surrogate pair"),
        ({"\udfff": 1}, "^x, in a key, holds half a surrogate pair"),
        (nested(DEEPEST + 1), "is nested more than"),
    ],
)
def test_what_has_none(value: object, message: str) -> None:
    with pytest.raises(DagError, match=message):
        encode_argument(value, "x")


def test_depth_has_a_limit_that_the_stored_form_can_bear() -> None:
    assert encode_argument(nested(DEEPEST), "x") == nested(DEEPEST)


def test_what_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)

    with pytest.raises(DagError, match="is nested more than"):
        encode_argument(loop, "x")


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(JSON)
def test_json_values_stay_what_they_are(value: object) -> None:
    encoded = encode_argument(value, "x")

    assert encoded == value
    assert msgpack.unpackb(msgpack.packb(encoded)) == value


@given(st.lists(st.integers(0, 9).map(lambda n: n * 1024), unique=True))
def test_a_set_has_one_form_whatever_its_order(items: list[int]) -> None:
    """These integers fall on each other, so that a set keeps the order that they came in."""
    backwards = items[::-1]

    assert encode_argument(set(items), "x") == encode_argument(set(backwards), "x")


def test_sets_count_as_levels() -> None:
    value: object = 1
    for _ in range(DEEPEST):
        value = frozenset([value])

    encode_argument(value, "argument x")
    with pytest.raises(DagError, match=f"more than {DEEPEST} levels"):
        encode_argument({value}, "argument x")
