"""`python -m benchmarks.compare OLD NAMES ROUNDS`: is this checkout slower than a revision?

The benchmarks of this checkout run with both installations of Headway.  If the older one lacks
what they call, it runs its own benchmark of that name, in all rounds; the rows that both have
are compared.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import BENCHMARKS
from benchmarks.report import RESULTS
from benchmarks.revision import ROOT, commit_of, installed
from benchmarks.side import AS_USUAL, CannotCompareError, Side, runnable
from benchmarks.verdict import Compared, Round, compared

USAGE: Final = "Usage: make compare OLD=<revision> NAME=scheduler,tasks ROUNDS=7"

ARGUMENTS: Final = 3


def main(arguments: Sequence[str]) -> int:
    """Compare; exit 1 if a row is worse, 2 if the command line makes no sense."""
    problem = refused(arguments)
    if problem is not None:
        print(f"{problem}\n{USAGE}")
        return 2
    revision, names, rounds = arguments
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


def measured(bench: str, old: Side, new: Side, count: int) -> tuple[list[Round], list[Round]]:
    """Run a benchmark for that many rounds; return the rounds, and those of old against old.

    Each round is followed by one of old against old, which begins with the last run of the
    round before: old, new, new, old, old, old, old.
    """
    rounds, noise = [], []
    for number in range(count):
        print(f"{bench}, round {number + 1}: old, new, new, old; then 3 x old", flush=True)
        rounds.append(Round(old.run(bench), new.run(bench), new.run(bench), old.run(bench)))
        last = rounds[-1].second_old
        noise.append(Round(last, old.run(bench), old.run(bench), old.run(bench)))
    return rounds, noise


def _compare(folder: Path, names: Sequence[str], count: int) -> list[Compared]:
    """Compare with the revision that is installed in a folder; publish what there is so far."""
    rows: list[Compared] = []
    with tempfile.TemporaryDirectory(prefix="headway-compare-") as temporary:
        code = Path(temporary)
        ignored = shutil.ignore_patterns("results", "__pycache__")
        shutil.copytree(ROOT / "benchmarks", code / "benchmarks", ignore=ignored)
        python = folder / ".venv" / "bin" / "python"
        ours = Side(Path(sys.executable), code)
        for bench in names:
            old = runnable(bench, Side(python, code), Side(python, folder, AS_USUAL))
            new = ours.repeating_like(old)
            rounds, noise = measured(bench, old, new, count)
            rows += compared(rounds, noise, new.better(bench))
            _publish(rows)
    return rows


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
    sys.exit(main(sys.argv[1:]))
