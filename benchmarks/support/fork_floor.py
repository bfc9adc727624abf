"""The least that starting a task can cost: a fork of a worker's fork server, and its end."""

import gc
import os
import subprocess
import sys
import time
from typing import Final

FORKS: Final = 200
PROCESSES: Final = 2


def measure() -> float:
    """Return how many such forks a second there are, two at a time."""
    command = [sys.executable, "-m", "benchmarks.support.fork_floor"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said)


def _fork_all() -> float:
    from headway.runtime.forker.server import import_all
    from headway_worker.supervision.fork_servers import PRELOAD

    import_all(PRELOAD)
    gc.freeze()
    running = 0
    started = time.perf_counter()
    for _ in range(FORKS):
        if running == PROCESSES:
            os.wait()
            running -= 1
        if os.fork() == 0:
            os._exit(0)
        running += 1
    for _ in range(running):
        os.wait()
    return FORKS / (time.perf_counter() - started)


if __name__ == "__main__":
    print(_fork_all())
