"""Run real services under seeded faults, and check what happened by records outside the database.

    python -m tests.chaos --minutes 20 --seed 1 --stall supervisor,forker,nanny --skew 600

The last line is `violations=V executions=N seed=S`; the exit status is 0 if there is no violation
and the effect of every kind of fault was seen at least once.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.play import Options, Result, play
from tests.chaos.telling import counted, tell_violations

STALLS = ("supervisor", "forker", "nanny")


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit status."""
    options, keep = _options(arguments)
    print(f"minutes={options.minutes:g} seed={options.seed} in {options.root}", flush=True)
    result = play(options)
    _tell(result)
    failed = bool(result.violations) or bool(result.never_seen)
    print(f"violations={len(result.violations)} executions={result.executions} seed={options.seed}")
    if not (keep or failed):
        shutil.rmtree(options.root)
    return int(failed)


def _options(arguments: Sequence[str]) -> tuple[Options, bool]:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stall", default=",".join(STALLS), help="Which processes are stopped.")
    parser.add_argument("--skew", type=float, default=600, help="Seconds a clock is shifted by.")
    parser.add_argument("--keep", type=Path, help="An empty folder for all that is made.")
    given = parser.parse_args(arguments)
    stall = tuple(filter(None, given.stall.split(",")))
    if unknown := sorted(set(stall) - set(STALLS)):
        parser.error(f"--stall knows {', '.join(STALLS)}, not {', '.join(unknown)}")
    root = given.keep or Path(tempfile.mkdtemp(prefix="headway-chaos-"))
    return Options(given.minutes, given.seed, stall, given.skew, root.resolve()), bool(given.keep)


def _tell(result: Result) -> None:
    kinds = sorted(result.done | result.missed)
    for kind in kinds:
        print(f"fault {kind:<20} seen {result.done[kind]:>4}  not seen {result.missed[kind]:>4}")
    print(f"attempts by outcome: {counted(result.outcomes)}")
    print(f"executions by DAG: {counted(result.by_dag)}")
    print(f"requests by answer: {counted(result.answers)}; {result.streams} streams opened")
    print(f"alerts that fired: {', '.join(sorted(result.alerts)) or 'none'}")
    tell_violations(result.violations)
    for kind in result.never_seen:
        print(f"NEVER SEEN {kind}: the fault had no effect, so this proves nothing about it")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
