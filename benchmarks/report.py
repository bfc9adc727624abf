"""What a benchmark has measured: a table to read, and rows to compare."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

RESULTS: Final = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one case, over its repetitions; `target` is its upper bound, if it has one."""

    bench: str
    case: str
    metric: str
    min: float
    median: float
    max: float
    unit: str
    target: float | None
    met: bool | None

    @classmethod
    def at_most(cls, bench: str, case: str, values: list[float], unit: str, target: float) -> "Row":
        """Return the row of values of which the median shall not exceed `target`."""
        middle = median(values)
        return cls(
            bench, case, "value", min(values), middle, max(values), unit, target, middle <= target
        )


def publish(name: str, rows: list[Row]) -> None:
    """Print the rows as a table and write them to `results/NAME.json`."""
    table = Table(title=name, title_justify="left", box=None, pad_edge=False)
    for heading in ("case", "min", "median", "max", "unit", "target", "met"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        figures = [f"{value:.3g}" for value in (row.min, row.median, row.max)]
        target = "-" if row.target is None else f"<= {row.target:g}"
        met = {True: "yes", False: "NO", None: "-"}[row.met]
        table.add_row(row.case, *figures, row.unit, target, met)
    Console(width=200).print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps([asdict(row) for row in rows], indent=2))
