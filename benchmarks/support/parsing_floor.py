"""The least that parsing can cost: a fork and an import for each file, and nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

PROCESSES: Final = 2


def measure(folder: Path) -> float:
    """Return the seconds that this takes for the files of the folder, two at a time.

    The process that forks has imported what DAG files need, as a parser's has; that is not
    counted, and nothing of what the files define is looked at, sent or stored.
    """
    command = [sys.executable, "-m", "benchmarks.support.parsing_floor", str(folder)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said)


def _import_all(folder: Path) -> float:
    import headway_parser.child.preload  # noqa: F401
    from headway.sdk.harness.loading import load_dag_file

    files = sorted(folder.glob("*.py"))
    running: set[int] = set()
    started = time.perf_counter()
    for file in files:
        if len(running) == PROCESSES:
            running.discard(os.wait()[0])
        pid = os.fork()
        if pid == 0:
            load_dag_file(file, folder)
            os._exit(0)
        running.add(pid)
    for _ in range(len(running)):
        os.wait()
    return time.perf_counter() - started


if __name__ == "__main__":
    print(_import_all(Path(sys.argv[1])))
