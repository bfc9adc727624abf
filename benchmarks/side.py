"""One side of a comparison: an installation of Headway, and the code of the benchmarks it runs."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from benchmarks.verdict import Figures, Metric

ONCE: Final = {"HEADWAY_BENCH_REPEAT": "1"}
"""A run of a benchmark repeats nothing: the rounds are the repetitions."""

AS_USUAL: Final[Mapping[str, str]] = {}
"""A run repeats as often as the benchmark does by itself: older ones do not know the variable."""


class CannotCompareError(Exception):
    """A comparison is impossible; the message says why."""


@dataclass(frozen=True, slots=True)
class Side:
    """The Python of an installation, and the folder that holds the package `benchmarks`."""

    python: Path
    code: Path
    repeat: Mapping[str, str] = field(default_factory=lambda: ONCE)

    def repeating_like(self, other: "Side") -> "Side":
        """Return this side so that it repeats as often as the other one."""
        return replace(self, repeat=other.repeat)

    def run(self, bench: str) -> Figures:
        """Run a benchmark; return the median of each metric."""
        return {metric: float(str(row["median"])) for metric, row in self._rows(bench).items()}

    def better(self, bench: str) -> Mapping[Metric, str]:
        """Return which direction is better for each metric of the last run."""
        return {metric: str(row.get("better", "")) for metric, row in self._read(bench).items()}

    def _rows(self, bench: str) -> Mapping[Metric, Mapping[str, object]]:
        self._file(bench).unlink(missing_ok=True)
        subprocess.run(
            [str(self.python), "-m", "benchmarks", bench],
            cwd=self.code,
            env={**os.environ, **self.repeat},
            check=True,
        )
        return self._read(bench)

    def _read(self, bench: str) -> Mapping[Metric, Mapping[str, object]]:
        rows = json.loads(self._file(bench).read_text())
        return {Metric(row["bench"], row["case"], row["metric"]): row for row in rows}

    def _file(self, bench: str) -> Path:
        return self.code / "benchmarks" / "results" / f"{bench}.json"


def runnable(bench: str, ours: Side, own: Side) -> Side:
    """Return the first of these sides of the old installation that can run the benchmark.

    Both are tried in this order, with a whole run whose figures are not used.  All rounds then
    use the same code: figures of two different benchmarks must never be mixed.
    """
    for side in (ours, own):
        try:
            side.run(bench)
        except subprocess.CalledProcessError:
            print(f"{bench}: {side.python} cannot run the benchmarks of {side.code}.", flush=True)
        else:
            print(f"{bench}: the old side runs the benchmarks of {side.code}.", flush=True)
            return side
    raise CannotCompareError(
        f"The old revision can run the benchmark {bench} neither with this checkout's code nor "
        "with its own; the errors are above. Leave it out of NAME."
    )
