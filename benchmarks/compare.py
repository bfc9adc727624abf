"""`python -m benchmarks.compare OLD NAMES ROUNDS`: is this checkout slower than a revision?

The benchmarks of this checkout run with both installations of Headway.  Where they cannot
run with the older one, because what they call is not there, that one runs its own, and the rows
that both have are compared.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.report import RESULTS
from benchmarks.revision import ROOT, installed
from benchmarks.verdict import Compared, Figures, Metric, Round, compared

ARGUMENTS: Final = 4

ONCE: Final = {"HEADWAY_BENCH_REPEAT": "1"}
"""A run of a benchmark repeats nothing: the rounds are the repetitions."""


@dataclass(slots=True)
class Side:
    """One installation: whose Python, and the folder of the benchmarks that it runs."""

    python: Path
    code: Path
    own: Path
    better: dict[Metric, str] = field(default_factory=dict)

    def run(self, bench: str) -> Figures:
        """Run a benchmark; return the median of each metric.  On an error, try its own code."""
        try:
            return self._run(bench)
        except subprocess.CalledProcessError:
            if self.code == self.own:
                raise
            print(f"{bench} of this checkout does not run with {self.own.name}; its own does.")
            self.code = self.own
            return self._run(bench)

    def _run(self, bench: str) -> Figures:
        file = self.code / "benchmarks" / "results" / f"{bench}.json"
        file.unlink(missing_ok=True)
        subprocess.run(
            [str(self.python), "-m", "benchmarks", bench],
            cwd=self.code,
            env={**os.environ, **ONCE},
            check=True,
        )
        rows = json.loads(file.read_text())
        named = {Metric(row["bench"], row["case"], row["metric"]): row for row in rows}
        self.better |= {metric: row.get("better", "") for metric, row in named.items()}
        return {metric: row["median"] for metric, row in named.items()}


def main() -> int:
    """Compare; exit 1 if a row is worse, 2 if the command line makes no sense."""
    if len(sys.argv) != ARGUMENTS or not sys.argv[3].isdigit() or int(sys.argv[3]) < 1:
        print("Usage: make compare OLD=<revision> NAME=scheduler,tasks ROUNDS=7")
        return 2
    folder = installed(sys.argv[1])
    rows: list[Compared] = []
    with tempfile.TemporaryDirectory(prefix="headway-compare-") as temporary:
        code = Path(temporary)
        ignored = shutil.ignore_patterns("results", "__pycache__")
        shutil.copytree(ROOT / "benchmarks", code / "benchmarks", ignore=ignored)
        old = Side(folder / ".venv" / "bin" / "python", code, folder)
        new = Side(Path(sys.executable), code, code)
        for bench in sys.argv[2].split(","):
            rounds = [_round(bench, old, new, number) for number in range(int(sys.argv[3]))]
            rows += compared(rounds, new.better)
            _publish(rows)
            new.better.clear()
    return 1 if any(row.worse for row in rows) else 0


def _round(bench: str, old: Side, new: Side, number: int) -> Round:
    print(f"{bench}, round {number + 1}: old, new, new, old", flush=True)
    return Round(old.run(bench), new.run(bench), new.run(bench), old.run(bench))


def _publish(rows: list[Compared]) -> None:
    """Print all rows so far, and write them to `results/compare.json`."""
    RESULTS.mkdir(exist_ok=True)
    records = [asdict(row) for row in rows]
    (RESULTS / "compare.json").write_text(json.dumps(records, indent=2) + "\n")
    table = Table(title="new to old", title_justify="left", box=None, pad_edge=False)
    for heading in ("bench", "case", "metric", "ratio", "min", "max", "noise", "worse"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        figures = (row.ratio, row.ratio_min, row.ratio_max, row.noise)
        worse = "WORSE" if row.worse else "-"
        table.add_row(row.bench, row.case, row.metric, *(f"{it:.3f}" for it in figures), worse)
    Console(width=200).print(table)


if __name__ == "__main__":
    sys.exit(main())
