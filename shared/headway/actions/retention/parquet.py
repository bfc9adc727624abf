"""Rows of a table of the database as a table of Arrow, with the columns of both of one type."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
)
from sqlalchemy.types import TypeEngine

from headway.db.access.grants_matrix import HIDDEN
from headway.db.schema import METADATA

if TYPE_CHECKING:
    from pyarrow import DataType, Table

_NAMES: Final[Mapping[type[TypeEngine[Any]], str]] = {
    Boolean: "bool",
    Double: "float64",
    BigInteger: "int64",
    Integer: "int32",
}
"""The types of Arrow by those of the database, a more special one before the general one."""


def table_of(table: str, rows: Sequence[Mapping[str, Any]]) -> "Table":
    """Return these rows of that table of the database; JSON is in its text."""
    import pyarrow

    columns = [
        column
        for column in METADATA.tables[table].columns
        if column.name not in HIDDEN.get(table, ())
    ]
    schema = pyarrow.schema([(column.name, _type(column)) for column in columns])
    values = {column.name: [row[_source(column)] for row in rows] for column in columns}
    return pyarrow.table(values, schema=schema)


def _source(column: "Column[Any]") -> str:
    return f"{column.name}_json" if isinstance(column.type, JSON) else column.name


def _type(column: "Column[Any]") -> "DataType":
    import pyarrow

    if isinstance(column.type, ARRAY):
        return pyarrow.list_(pyarrow.string())
    if isinstance(column.type, DateTime):
        return pyarrow.timestamp("us", tz="UTC")
    found = (name for kind, name in _NAMES.items() if isinstance(column.type, kind))
    return pyarrow.type_for_alias(next(found, "string"))
