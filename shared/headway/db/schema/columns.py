"""What the tables have in common."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from sqlalchemy import BigInteger, Column, DateTime, Identity, MetaData, text

METADATA: Final = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)

QUEUE_STORAGE: Final = {
    "autovacuum_vacuum_scale_factor": "0",
    "autovacuum_vacuum_threshold": "2000",
    "autovacuum_vacuum_insert_threshold": "-1",
}
"""For tables of which every row is soon deleted: swept by number, not by share."""


def identity() -> Column[int]:
    """Return a primary key that the database numbers."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def moment(name: str, *, nullable: bool = True, now: bool = False) -> Column[object]:
    """Return a column for an instant; `now` fills it by the time of the insert."""
    default = text("now()") if now else None
    return Column(
        name, DateTime(timezone=True), nullable=nullable and not now, server_default=default
    )


def one_of(column: str, values: Iterable[StrEnum]) -> str:
    """Return the check that a column holds one of these values."""
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"
