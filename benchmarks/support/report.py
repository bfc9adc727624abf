"""What a benchmark has measured: a table to read, and rows to compare."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

RESULTS: Final = Path(__file__).parent.parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one case, over its repetitions; `target` bounds the median, if there is one.

    `values` has as many of each repetition, in the order in which they were measured.

    The bound is an upper one unless `lower` is true, which is not written: `met` tells enough.
    `better` says which values are: "lower" or "higher", or "" of what is not Headway's doing.
    """

    bench: str
    case: str
    metric: str
    min: float
    median: float
    max: float
    unit: str
    target: float | None = None
    met: bool | None = None
    lower: bool = field(default=False, kw_only=True)
    values: Sequence[float] = field(default=(), kw_only=True)
    better: str = field(default="lower", kw_only=True)

    @classmethod
    def at_most(
        cls,
        bench: str,
        case: str,
        values: Sequence[float],
        unit: str,
        target: float,
        metric: str = "value",
    ) -> "Row":
        """Return the row of values of which the median shall not exceed `target`."""
        row = cls.of(bench, case, metric, values, unit)
        return replace(row, target=target, met=row.median <= target)

    @classmethod
    def at_least(
        cls,
        bench: str,
        case: str,
        values: Sequence[float],
        unit: str,
        target: float,
        metric: str = "value",
    ) -> "Row":
        """Return the row of values of which the median shall reach `target`."""
        row = cls.of(bench, case, metric, values, unit)
        return replace(row, target=target, met=row.median >= target, lower=True, better="higher")

    @classmethod
    def of(
        cls,
        bench: str,
        case: str,
        metric: str,
        values: Sequence[float],
        unit: str,
        *,
        better: str = "lower",
    ) -> "Row":
        """Return the row of values that have no target."""
        figures = min(values), median(values), max(values)
        return cls(bench, case, metric, *figures, unit, better=better, values=list(values))

    def record(self) -> Mapping[str, object]:
        """Return the row as it is written to a file."""
        record = asdict(self)
        del record["lower"]
        return record

    def bound(self) -> str:
        """Return the target as it is printed."""
        if self.target is None:
            return "-"
        return f"{'>=' if self.lower else '<='} {self.target:.4g}"


def publish(name: str, rows: Iterable[Row]) -> None:
    """Print the rows as a table and write them to `results/NAME.json`.

    Rows that have come are kept when those to come fail.
    """
    kept: list[Row] = []
    try:
        for row in rows:
            kept.append(row)
            print(f"  {row.case}: {row.metric} {row.median:.4g} {row.unit}", flush=True)
    finally:
        Console(width=200).print(_table(name, kept))
        RESULTS.mkdir(exist_ok=True)
        records = [row.record() for row in kept]
        (RESULTS / f"{name}.json").write_text(json.dumps(records, indent=2) + "\n")


def _table(name: str, rows: Iterable[Row]) -> Table:
    table = Table(title=name, title_justify="left", box=None, pad_edge=False)
    for heading in ("case", "metric", "min", "median", "max", "unit", "target", "met"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        figures = [f"{value:.4g}" for value in (row.min, row.median, row.max)]
        met = {True: "yes", False: "NO", None: "-"}[row.met]
        table.add_row(row.case, row.metric, *figures, row.unit, row.bound(), met)
    return table
