"""Values that come out of an XCom as they went in, and those that are refused."""

import json
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pendulum
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.arguments import JsonValue, nests_at_most
from headway.runtime.processes.frames import encode_frame
from headway.sdk.exceptions import XComError
from headway.sdk.values.xcom import DEEPEST
from headway.sdk.xcoms.codec import decode_item, decode_xcom, encode_xcom
from headway.serialization.decoding import decode

ZURICH = ZoneInfo("Europe/Zurich")


class Color(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


def encoded(value: object) -> Any:
    return encode_xcom(value, "It")


def again(value: object) -> Any:
    """Return what comes out, having been JSON in the database and a frame before that."""
    stored = encoded(value)
    assert decode(encode_frame({"value": stored})[8:])["value"] == stored
    return decode_xcom(json.loads(json.dumps(stored)), "It")


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal, and of the same types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return is_same(list(left.items()), list(right.items()))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, set | frozenset):
        others = {item: item for item in right}
        return bool(left == right) and all(is_same(item, others[item]) for item in left)
    if isinstance(left, datetime | time):
        return repr(left) == repr(right)
    return bool(left == right)


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
ZONES = st.sampled_from([None, UTC, ZURICH, timezone(timedelta(hours=5, seconds=7))])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.sampled_from(["__headway__", "items", "tuple"]),
    st.datetimes(timezones=ZONES, allow_imaginary=True),
    st.dates(),
    st.times(timezones=st.sampled_from([None, UTC, ZURICH])),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.binary(max_size=9),
    st.uuids(),
    st.builds(Path, TEXT),
    st.builds(PurePosixPath, TEXT),
)
HASHABLE = st.recursive(
    LEAVES, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=4
)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.sets(HASHABLE, max_size=3),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.dictionaries(TEXT | st.just("__headway__"), inner, max_size=3),
    ),
    max_leaves=8,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_values_come_out_as_they_went_in(value: object) -> None:
    assert is_same(again(value), value)


@given(JSON.filter(lambda value: "inf" not in repr(value)))
def test_plain_json_is_stored_as_it_is(value: object) -> None:
    assert json.dumps(encoded(value)) == json.dumps(value)


def test_what_json_has_a_form_of_becomes_plain() -> None:
    left: Any = encoded([Color.RED, Level.HIGH, {Color.RED: 1}, OrderedDict(a=1)])

    assert left == ["red", 3, {"red": 1}, {"a": 1}]
    assert [type(item) for item in left] == [str, int, dict, dict]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ((1, (2,)), {"items": [1, {"__headway__": "tuple", "items": [2]}]}),
        ({8, 1}, {"items": [1, 8]}),  # which Python has the other way round
        ({1: "a"}, {"items": [[1, "a"]]}),
        ({"__headway__": "x"}, {"items": [["__headway__", "x"]]}),
        (datetime(2013, 1, 1, tzinfo=UTC), {"value": "2013-01-01T00:00:00+00:00"}),
        (
            datetime(2013, 7, 1, tzinfo=ZURICH),
            {"value": "2013-07-01T00:00:00+02:00", "timezone": "Europe/Zurich"},
        ),
        (timedelta(days=1, microseconds=5), {"seconds": 86400, "microseconds": 5}),
        (timedelta(-1), {"seconds": -86400}),
        (Decimal("1.10"), {"value": "1.10"}),
        (b"ab", {"base64": "YWI="}),
        (UUID(int=5), {"value": "00000000-0000-0000-0000-000000000005"}),
    ],
)
def test_other_values_are_stored_readably(value: object, stored: dict[str, JsonValue]) -> None:
    left: Any = encoded(value)

    assert isinstance(left.pop("__headway__"), str)
    assert left == stored


def test_an_hour_that_comes_twice_stays_the_one_it_was() -> None:
    first = datetime(2013, 10, 27, 2, 30, tzinfo=ZURICH)

    assert again(first).utcoffset() == timedelta(hours=2)
    assert again(first.replace(fold=1)).utcoffset() == timedelta(hours=1)


@pytest.mark.parametrize(
    "value",
    [
        pendulum.datetime(2013, 7, 1, tz="Europe/Zurich"),
        pendulum.datetime(2013, 7, 1),
        pendulum.datetime(2013, 7, 1, tz=pendulum.FixedTimezone(7200)),
        pendulum.naive(2013, 7, 1),
        pendulum.date(2013, 7, 1),
        pendulum.time(3, 4, 5),
    ],
)
def test_dates_of_pendulum_stay_those_of_pendulum(value: Any) -> None:
    found = again(value)

    assert (type(found), found) == (type(value), value)
    if isinstance(value, pendulum.DateTime):
        assert found.timezone_name == value.timezone_name


def test_a_duration_of_pendulum_is_a_timedelta() -> None:
    start = pendulum.datetime(2013, 1, 1)

    assert is_same(again(start.add(hours=1) - start), timedelta(hours=1))
    assert is_same(again(pendulum.duration(days=2, microseconds=3)), timedelta(2, 0, 3))
    assert is_same(again(start - start.add(seconds=1)), timedelta(seconds=-1))


def test_an_entry_to_expand_over_is_a_pair_of_values() -> None:
    stored = encoded([(1,), date(2013, 1, 1)])

    assert decode_item((stored[0], stored[1]), "It") == ((1,), date(2013, 1, 1))
    assert decode_item(stored[0], "It") == (1,)


def nest(wrap: Callable[[object], object], times: int) -> object:
    value: object = 1
    for _ in range(times):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    ("wrap", "levels"),
    [
        (lambda inner: [inner], 1),
        (lambda inner: (inner,), 2),
        (lambda inner: frozenset([inner]), 2),
        (lambda inner: {1: inner}, 3),
    ],
)
def test_depth_is_that_of_what_is_stored(wrap: Callable[[object], object], levels: int) -> None:
    most = DEEPEST // levels
    stored = encoded(nest(wrap, most))

    assert nests_at_most(stored, DEEPEST)
    with pytest.raises(XComError, match="nested more than 50 levels"):
        encoded(nest(wrap, most + 1))


def test_an_empty_set_counts_as_the_list_that_it_is_stored_as() -> None:
    encoded(nest(lambda inner: [inner], DEEPEST))
    deep: object = set()
    for _ in range(DEEPEST):
        deep = [deep]

    with pytest.raises(XComError, match="nested more than 50 levels"):
        encoded(deep)


def test_the_depth_of_a_key_counts() -> None:
    encoded({nest(lambda inner: (inner,), 23): 1})

    with pytest.raises(XComError, match=r"in the key .* nested more than 50 levels"):
        encoded({nest(lambda inner: (inner,), 24): 1})


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append((loop,))

    with pytest.raises(XComError, match="nested more than 50 levels"):
        encoded(loop)


class Named(tuple[int, ...]):
    """A tuple of a class that is none of a version's."""


def test_a_tuple_of_another_class_is_a_plain_one() -> None:
    assert is_same(again(Named((1, 2))), (1, 2))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rows": [1, object()]}, r"^It\['rows'\]\[1\] is of type object, which cannot be an XCom"),
        (({"a": object()},), r"^It\[0\]\['a'\] is of type object"),
        ({1: object()}, r"^It\[1\] is of type object"),
        ({object(): 1}, r"^It, in the key <object.*>, is of type object"),
        ({Fraction(1, 2)}, r"^It, in the set, is of type Fraction.*write anything else to a file"),
        (iter([1]), r"of type list_iterator"),
        (bytearray(b"a"), r"of type bytearray"),
        (1j, r"of type complex"),
        (len, r"of type builtin_function_or_method"),
        ([float("nan")], r"It\[0\] is nan, which JSON does not have; use None"),
        ({1: 2**63}, r"It\[1\] is an integer of more than 64 bits"),
        ({"\0": 1}, "in a key, holds a NUL"),
        (("a\0b",), "holds a NUL character"),
        (Path("\udcff"), "half a surrogate pair"),
    ],
)
def test_anything_else_is_refused_where_it_stands(value: object, message: str) -> None:
    with pytest.raises(XComError, match=message):
        encoded(value)


def test_size_is_that_of_what_is_stored() -> None:
    with pytest.raises(XComError, match=r"It has 44 bytes as JSON; an XCom may have 43\. Store"):
        encode_xcom((1, 2, 3), "It", limit=43)
    encode_xcom((1, 2, 3), "It", limit=44)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"__headway__": "pickle", "base64": "gASVBAA="}, "this release does not know 'pickle'"),
        ({"__headway__": ["tuple"]}, "TypeError"),
        ({"__headway__": "tuple"}, "KeyError"),
        ({"__headway__": "set", "items": [[1]]}, "TypeError"),
        ({"__headway__": "datetime", "value": "soon"}, "ValueError"),
        (
            {"__headway__": "datetime", "value": "2013-01-01T00:00:00", "timezone": "../a"},
            "ValueError",
        ),
        ({"__headway__": "bytes", "base64": "?"}, "Error"),
        ({"__headway__": "numpy", "dtype": "O", "value": 1}, "no type of a number"),
    ],
)
def test_what_cannot_be_turned_back_is_one_clear_error(stored: JsonValue, message: str) -> None:
    with pytest.raises(XComError, match=f"^It cannot be turned back into what it was: .*{message}"):
        decode_xcom([stored], "It")
