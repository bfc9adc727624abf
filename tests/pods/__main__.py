"""Run a release as pods on this machine, disturb it while DAGs run, and check what happened.

    python -m tests.pods [--short] [--earlier REVISION]

The last line is `violations=V executions=N`; the exit status is 0 if there is no violation.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.telling import counted, tell_violations
from tests.pods.play import Options, Result, play

from headway.cli.launch.demo import examples_folder
from headway.testing.containers.podman import Podman


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog="make pods", description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="Fewer disturbances, for CI.")
    parser.add_argument("--earlier", default="HEAD~1", help="The revision to upgrade from.")
    parser.add_argument("--keep", type=Path, help="An empty folder for all that is made.")
    given = parser.parse_args(arguments)
    root = (given.keep or Path(tempfile.mkdtemp(prefix="headway-pods-"))).resolve()
    root.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(f"all that is made is in {root}", flush=True)
    result = play(Podman.here(), Options(root, given.earlier, given.short))
    _tell(result)
    print(f"violations={len(result.violations)} executions={result.executions}")
    if not (given.keep or result.violations):
        shutil.rmtree(root)
    return int(bool(result.violations))


def _tell(result: Result) -> None:
    print(f"pods: {result.pods}; restarts of containers: {counted(result.restarts)}")
    print(f"disturbances: {', '.join(result.done)}")
    print("flights: " + ", ".join(f"{day} {number}" for day, number in result.flights))
    print(f"attempts by outcome: {counted(result.outcomes)}")
    print(f"executions by DAG: {counted(result.by_dag)}")
    tell_violations(result.violations)


if __name__ == "__main__":
    sys.path += [str(examples_folder())]
    sys.exit(main(sys.argv[1:]))
