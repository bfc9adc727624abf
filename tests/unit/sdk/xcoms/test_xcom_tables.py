"""Tables of pandas and Arrow, and numbers of numpy, in XComs."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sdk.exceptions import XComError
from headway.sdk.values.xcom import XCOM_LIMIT
from headway.sdk.xcoms.codec import decode_xcom, encode_xcom

FRAME = pd.DataFrame(
    {
        "n": [1, 2],
        "text": ["a", None],
        "at": pd.to_datetime(["2013-01-01", "2013-07-01"]).tz_localize("Europe/Zurich"),
        "kind": pd.Categorical(["x", "y"]),
    }
)


def again(value: object) -> Any:
    return decode_xcom(encode_xcom(value, "It"), "It")


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.set_index(["n", "text"]),
        FRAME[["n", "at"]].iloc[:0],
        pd.DataFrame([[1.5, 2.5]], columns=[0, 1]),
    ],
)
def test_a_dataframe_comes_out_as_it_went_in(frame: Any) -> None:
    pd.testing.assert_frame_equal(again({"in": (frame,)})["in"][0], frame)


@pytest.mark.parametrize("name", [None, "n", 3, ("a", 1)])
def test_a_series_keeps_its_name_and_its_index(name: Any) -> None:
    series = pd.Series([1.5, 2.5], index=["a", "b"], name=name)

    pd.testing.assert_series_equal(again(series), series)


def test_a_table_of_arrow_comes_out_as_it_went_in() -> None:
    table = pa.table({"a": [1, 2], "b": [["x"], None]})

    assert again(table).equals(table)


def test_people_see_how_large_a_table_is() -> None:
    stored: Any = encode_xcom(FRAME, "It")

    assert list(stored) == ["__headway__", "rows", "columns", "base64"]
    assert (stored["rows"], stored["columns"]) == (2, ["n", "text", "at", "kind"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pd.DataFrame({"a": [1, "x", object()]}), "a table that Arrow cannot hold"),
        (
            pd.DataFrame({"a": np.zeros(XCOM_LIMIT // 8 + 1)}),
            r"has 1,048,584 bytes as JSON; an XCom may have",
        ),
        (pd.DataFrame({"a": np.zeros(XCOM_LIMIT * 7 // 64)}), r"bytes as JSON; an XCom may have"),
        (pd.Index([1]), "of type RangeIndex|of type Index"),
        (pd.NA, "of type NAType"),
        (pa.array([1]), "of type Int64Array"),
        (np.array([1]), "of type ndarray"),
        (np.complex64(1), "of type complex64"),
        (np.float32("nan"), "is nan, which JSON does not have"),
        (np.longdouble(1), "of type longdouble"),
        (np.uint64(2**64 - 1), "more than 64 bits"),
    ],
)
def test_what_has_no_form_is_refused(value: object, message: str) -> None:
    with pytest.raises(XComError, match=f"^It .*{message}"):
        encode_xcom(value, "It")


def test_an_old_pyarrow_is_refused_for_it_runs_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = encode_xcom(FRAME, "It")
    monkeypatch.setattr(pa, "__version__", "14.0.0")

    with pytest.raises(XComError, match=r"needs pyarrow 15 or later; here is 14\.0\.0"):
        decode_xcom(stored, "It")
    with pytest.raises(XComError, match="needs pyarrow 15"):
        encode_xcom(FRAME, "It")


def test_without_pyarrow_the_error_says_what_to_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(XComError, match="It is a table, which needs pyarrow; install it, or"):
        encode_xcom(FRAME, "It")


@pytest.mark.parametrize(
    "value",
    [
        pd.Timestamp("2013-01-01 00:00:00.123456789"),
        pd.Timestamp("2013-07-01", tz="Europe/Zurich"),
        pd.Timestamp("2013-07-01T00:00:00+05:00"),
        pd.Timedelta("1 days 00:00:00.000000001"),
    ],
)
def test_dates_of_pandas_keep_their_nanoseconds(value: Any) -> None:
    found = again(value)

    assert type(found) is type(value)
    assert (found, str(found)) == (value, str(value))
    assert again(pd.NaT) is pd.NaT


@given(
    st.integers(-128, 127).map(np.int8)
    | st.integers(0, 2**32 - 1).map(np.uint32)
    | st.integers(-(2**63), 2**63 - 1).map(np.int64)
    | st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32)
    | st.booleans().map(np.bool_)
    | st.integers(-(2**40), 2**40).map(lambda ticks: np.datetime64(ticks, "us"))
    | st.integers(-(2**40), 2**40).map(lambda ticks: np.timedelta64(ticks, "ns"))
)
def test_numbers_of_numpy_come_out_as_they_went_in(value: Any) -> None:
    found = again({value: [value]})

    assert found == {value: [value]}
    assert [next(iter(found)).dtype, found[value][0].dtype] == [value.dtype] * 2


def test_what_python_takes_for_its_own_is_stored_plainly() -> None:
    assert encode_xcom([np.float64(1.5), np.str_("a")], "It") == [1.5, "a"]
    assert again(np.bytes_(b"a")) == b"a"
