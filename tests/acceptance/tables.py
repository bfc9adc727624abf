"""What a backfill of the flights example has left on disk, and how two of them differ."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

AGGREGATES: Final = ("by_carrier", "by_airport")
MOST_TOLD: Final = 10
"""Differences of a table that are told one by one."""

Rows: TypeAlias = list[str]
"""The rows of a table as JSON, each with its day first, sorted."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The aggregate tables below a folder, and the summaries of all days, which are one too."""

    rows: Mapping[str, Rows]

    @classmethod
    def read(cls, output: Path) -> "Tables":
        """Read all partitions there are."""
        found = {table: sorted(_rows(output / table)) for table in AGGREGATES}
        summaries = sorted((output / "summary").glob("day=*.json"))
        found["summary"] = [json.dumps(json.loads(path.read_text())) for path in summaries]
        return cls(found)

    def days(self, table: str) -> list[str]:
        """Return the days of which a table has rows, in order."""
        names = {"summary": "day"}
        return sorted({json.loads(row)[names.get(table, "date")] for row in self.rows[table]})

    def checksum(self, table: str) -> str:
        """Return a digest of all rows of a table."""
        return sha256("\n".join(self.rows[table]).encode()).hexdigest()[:16]


def differences(one: Tables, other: Tables) -> Iterator[str]:
    """Yield what only one of the two has, row by row; nothing when they are identical."""
    for table in one.rows:
        mine, its = set(one.rows[table]), set(other.rows[table])
        told = [*(f"- {row}" for row in mine - its), *(f"+ {row}" for row in its - mine)]
        told.sort(key=lambda line: (line[2:], line[0]))
        yield from (f"{table}: {line}" for line in told[:MOST_TOLD])
        if len(told) > MOST_TOLD:
            yield f"{table}: and {len(told) - MOST_TOLD} more"
        if not told and one.rows[table] != other.rows[table]:
            yield f"{table}: the same rows, but {len(one.rows[table])} and {len(other.rows[table])}"


def _rows(table: Path) -> Iterator[str]:
    from pyarrow import parquet

    for file in table.glob("date=*/*.parquet"):
        day = file.parent.name.removeprefix("date=")
        for row in parquet.ParquetFile(file).read().to_pylist():
            yield json.dumps({"date": day, **row})
