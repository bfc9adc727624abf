"""Tables in XComs: of pandas and of Arrow, as bytes of an Arrow stream.

The libraries are imported when a table is there, and not before.
"""

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Final

from headway.domain.arguments import TAG, JsonValue
from headway.domain.xcoms import BINARY, XComKind
from headway.sdk.exceptions import XComError
from headway.sdk.values.xcom import XCOM_LIMIT, check_scalar, too_large
from headway.sdk.xcoms.times import ZONE, zone_name

_VALUES: Final = "values"
"""The column of a Series."""

_FIRST_SAFE: Final = 15
"""Releases of pyarrow before this one run pickles that are hidden in a stream."""


def encode_table(
    value: Any, where: str, encode: Callable[[object], JsonValue]
) -> dict[str, JsonValue] | None:
    """Return a table, a column or a date of pandas, or a table of Arrow, as a tagged map.

    None for any other value.
    """
    package = type(value).__module__.partition(".")[0]
    if package == "pandas":
        return _encode_pandas(value, where, encode)
    if package == "pyarrow" and isinstance(value, sys.modules["pyarrow"].Table):
        return _encode_arrow(XComKind.ARROW_TABLE, value, where)
    return None


def decode_timestamp(data: dict[str, Any]) -> object:
    """Return the date of pandas."""
    import pandas

    found = pandas.Timestamp(data["value"])
    return found.tz_convert(data[ZONE]) if ZONE in data else found


def decode_timedelta(data: dict[str, Any]) -> object:
    """Return the duration of pandas."""
    import pandas

    return pandas.Timedelta(data["value"])


def decode_dataframe(data: dict[str, Any]) -> object:
    """Return the DataFrame."""
    return decode_arrow(data).to_pandas()


def decode_series(data: dict[str, Any], decode: Callable[[Any], Any]) -> object:
    """Return the Series."""
    found = decode_arrow(data).to_pandas()[_VALUES]
    found.name = decode(data["name"])
    return found


def decode_arrow(data: dict[str, Any]) -> Any:
    """Return the table of Arrow."""
    pyarrow = _pyarrow("This XCom")
    with pyarrow.ipc.open_stream(b64decode(data[BINARY], validate=True)) as stream:
        return stream.read_all()


def _encode_pandas(
    value: Any, where: str, encode: Callable[[object], JsonValue]
) -> dict[str, JsonValue] | None:
    pandas = sys.modules["pandas"]
    if value is pandas.NaT or isinstance(value, pandas.Timestamp):
        zone = zone_name(value.tzinfo)
        named: dict[str, JsonValue] = {} if zone is None else {ZONE: zone}
        return {TAG: str(XComKind.TIMESTAMP), "value": value.isoformat(), **named}
    if isinstance(value, pandas.Timedelta):
        return {TAG: str(XComKind.PANDAS_TIMEDELTA), "value": value.isoformat()}
    if isinstance(value, pandas.DataFrame):
        return _encode_arrow(XComKind.DATAFRAME, _table(value, where), where)
    if isinstance(value, pandas.Series):
        table = _table(value.to_frame(_VALUES), where)
        found = _encode_arrow(XComKind.SERIES, table, where)
        return {TAG: found.pop(TAG), "name": encode(value.name), **found}
    return None


def _table(frame: Any, where: str) -> Any:
    pyarrow = _pyarrow(where)
    try:
        return pyarrow.Table.from_pandas(frame)
    except (pyarrow.ArrowException, ValueError, TypeError, NotImplementedError) as error:
        raise XComError(
            f"{where} is a table that Arrow cannot hold: {error}. Write it to a file and return "
            "the file's path."
        ) from None


def _encode_arrow(kind: XComKind, table: Any, where: str) -> dict[str, JsonValue]:
    pyarrow = _pyarrow(where)
    if table.nbytes > XCOM_LIMIT:  # before there is a second copy of it
        raise too_large(where, table.nbytes, XCOM_LIMIT)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return {
        TAG: str(kind),
        "rows": table.num_rows,
        "columns": [check_scalar(name, f"{where}, in a column,") for name in table.column_names],
        BINARY: b64encode(sink.getvalue()).decode(),
    }


def _pyarrow(where: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise XComError(
            f"{where} is a table, which needs pyarrow; install it, or return the rows as a list "
            "of dictionaries."
        ) from None
    if int(pyarrow.__version__.partition(".")[0]) < _FIRST_SAFE:
        raise XComError(
            f"{where} is a table, which needs pyarrow {_FIRST_SAFE} or later; here is "
            f"{pyarrow.__version__}."
        )
    return pyarrow
