"""The fork servers of a worker: one for most tasks, one for those that use Spark.

Each is started as a program of the worker's own, or found at the Unix socket that the
settings name: then it runs elsewhere, where nothing of the worker's secrets is.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headway.runtime.forker import Forker
from headway.runtime.settings import WorkerSettings

PRELOAD: Final = ("headway_worker.preload",)
PRELOAD_SPARK: Final = ("headway_worker.preload", "headway_worker.spark.preload")


def fork_server(given: WorkerSettings, environment: Mapping[str, str]) -> Forker:
    """Return a fork server for most tasks; ForkerError when there is none to be had."""
    return _start_or_find(given.forker, PRELOAD, environment)


def spark_fork_server(given: WorkerSettings, environment: Mapping[str, str]) -> Forker:
    """Return a fork server for tasks that use Spark; ForkerError when there is none to be had.

    Where only the other one runs elsewhere it is that one, which need not have imported
    pyspark: a task's own process is never beside the worker's secrets because of its kind.
    (What it has the embedded Spark run is; see docs/isolation.md.)
    """
    return _start_or_find(given.spark_forker or given.forker, PRELOAD_SPARK, environment)


def _start_or_find(
    path: Path | None, preload: tuple[str, ...], environment: Mapping[str, str]
) -> Forker:
    if path is None:
        return Forker.start(preload, environment, apart=True)
    return Forker.connect(path, apart=True)
