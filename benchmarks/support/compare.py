"""`python -m benchmarks.support.compare OLD NAMES ROUNDS`: is this checkout slower than a revision?

Three benchmarks run at the same time and measure in turns: the older revision, this checkout, and
the older revision once more, which tells the noise.  All run the benchmarks of this checkout.  If
the older revision lacks what they call, it runs its own; the rows that both have are compared.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import BENCHMARKS
from benchmarks.support.report import RESULTS
from benchmarks.support.revision import ROOT, commit_of, installed
from benchmarks.support.side import CannotCompareError, Side, runnable
from benchmarks.support.verdict import Compared, compared

USAGE: Final = "Usage: make compare OLD=<revision> NAME=scheduler,tasks ROUNDS=15"

ARGUMENTS: Final = 3

ENOUGH: Final = 9
"""Rounds with which the noise is about what it is with more."""


def main(arguments: Sequence[str]) -> int:
    """Compare; exit 1 if a row is worse, 2 if the command line makes no sense."""
    problem = refused(arguments)
    if problem is not None:
        print(f"{problem}\n{USAGE}")
        return 2
    revision, names, rounds = arguments
    if int(rounds) < ENOUGH:
        print(f"Fewer than {ENOUGH} rounds show too little noise: rows look worse that are not.")
    try:
        rows = _compare(installed(revision), names.split(","), int(rounds))
    except CannotCompareError as error:
        print(error)
        return 2
    return 1 if any(row.worse for row in rows) else 0


def refused(arguments: Sequence[str]) -> str | None:
    """Return what is wrong with a command line; None if nothing is."""
    if len(arguments) != ARGUMENTS or not all(arguments):
        return "OLD, NAME and ROUNDS must be given."
    revision, names, rounds = arguments
    if not (rounds.isascii() and rounds.isdecimal() and int(rounds) > 0):
        return f"ROUNDS={rounds} is no number of rounds; it is 1 or more."
    unknown = [name for name in names.split(",") if name not in BENCHMARKS]
    if unknown:
        return f"There is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}."
    if commit_of(revision) is None:
        return f"There is no revision {revision!r} in this repository."
    return None


def measured(bench: str, sides: Sequence[Side], rounds: int) -> None:
    """Let each side measure once in a round; every round begins with another side.

    A side that waits for its turn has its services running, and asks nothing of them.
    """
    with ExitStack() as stack:
        running = [stack.enter_context(side.running(bench, rounds)) for side in sides]
        turn = 0
        while running:
            turn += 1
            print(f"{bench}: turn {turn}", flush=True)
            running = [each for each in running if each.turn()]
            running = running[1:] + running[:1]


def _compare(folder: Path, names: Sequence[str], rounds: int) -> list[Compared]:
    """Compare with the revision that is installed in a folder; publish what there is so far."""
    rows: list[Compared] = []
    with tempfile.TemporaryDirectory(prefix="headway-compare-") as temporary:
        python = folder / ".venv" / "bin" / "python"
        new, ours = (_code(ROOT, Path(temporary, name)) for name in ("new", "ours"))
        own = _code(folder, Path(temporary, "own"))
        for bench in names:
            old = runnable(bench, Side(python, ours), Side(python, own), rounds)
            other = shutil.copytree(old.code, Path(temporary, f"again-{bench}"))
            sides = old, Side(Path(sys.executable), new), Side(python, other)
            measured(bench, sides, rounds)
            first, this, second = (side.series(bench) for side in sides)
            rows += compared(first, this, second, rounds)
            _publish(rows)
    return rows


def _code(checkout: Path, folder: Path) -> Path:
    """Copy the benchmarks of a checkout: what a side writes there is its own."""
    ignored = shutil.ignore_patterns("results", "__pycache__")
    shutil.copytree(checkout / "benchmarks", folder / "benchmarks", ignore=ignored)
    return folder


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
        table.add_row(
            row.bench, row.case, row.metric, *(f"{figure:.3f}" for figure in figures), worse
        )
    Console(width=200).print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
