"""What the acceptance of backfills calls identical, and what it tells of differences."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.tables import MOST_TOLD, Tables, differences


def write(root: Path, day: str, *rows: dict[str, Any]) -> None:
    """Write a partition of both aggregates, and the summary of that day."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for table in ("by_carrier", "by_airport"):
        folder = root / table / f"date={day}"
        folder.mkdir(parents=True)
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), folder / "part-0.parquet")
    (root / "summary").mkdir(exist_ok=True)
    (root / "summary" / f"day={day}.json").write_text(json.dumps({"day": day, "rows": len(rows)}))


def told(one: Path, other: Path) -> list[str]:
    return list(differences(Tables.read(one), Tables.read(other)))


def carrier(name: str, flights: int = 1) -> dict[str, Any]:
    return {"carrier": name, "flights": flights}


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, "2013-01-01", carrier("AA"), carrier("UA"))
    write(other, "2013-01-01", carrier("UA"), carrier("AA"))

    assert told(one, other) == []
    read = Tables.read(one)
    assert read.checksum("by_carrier") == Tables.read(other).checksum("by_carrier")
    assert read.days("by_carrier") == read.days("summary") == ["2013-01-01"]


def test_each_row_that_differs_is_told(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, "2013-01-01", carrier("AA", 3), carrier("UA"))
    write(other, "2013-01-01", carrier("AA", 4), carrier("UA"))

    assert told(one, other)[:2] == [
        'by_carrier: - {"date": "2013-01-01", "carrier": "AA", "flights": 3}',
        'by_carrier: + {"date": "2013-01-01", "carrier": "AA", "flights": 4}',
    ]
    checksums = {Tables.read(root).checksum("by_airport") for root in (one, other)}
    assert len(checksums) == 2


def test_a_day_that_is_missing_or_another_one_differs(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, "2013-01-01", *(carrier(f"C{number}") for number in range(MOST_TOLD + 2)))
    other.mkdir()

    found = told(one, other)

    assert found[MOST_TOLD] == "by_carrier: and 2 more"
    assert found[-1] == 'summary: - {"day": "2013-01-01", "rows": 12}'


def test_a_row_that_is_there_twice_differs(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, "2013-01-01", carrier("AA"))
    write(other, "2013-01-01", carrier("AA"), carrier("AA"))

    assert "by_carrier: the same rows, but 1 and 2" in told(one, other)
