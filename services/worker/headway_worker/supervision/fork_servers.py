"""The fork servers of a worker: one for most tasks, one for those that use Spark.

Each is started as a program of the worker's own, or found at the Unix socket that the
settings name: then it runs elsewhere, where nothing of the worker's secrets is.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.forker import ChildLimits, Forker, ForkerError
from headway.runtime.health import HealthCheck
from headway.runtime.settings.worker import WorkerSettings

log = logging.getLogger(__name__)

PRELOAD: Final = ("headway_worker.child.preload",)
PRELOAD_SPARK: Final = ("headway_worker.child.preload", "headway_worker.spark.session.preload")


@dataclass(slots=True)
class ForkServers:
    """The fork server of most tasks, which may be `starting`, and is replaced when it has died.

    Use it in one thread that lives as long as the worker: its processes end with it.
    """

    start_forker: Callable[[], Forker]
    clock: Clock
    pace: Pace = field(default_factory=Pace)
    starting: Future[Forker] | None = None
    _forker: Forker | None = None
    _failures: int = 0
    _not_before: float = 0.0
    _was_there: bool = False

    def warm_up(self) -> None:
        """Have the fork server ready before the first attempt; ForkerError if it cannot be."""
        self.live()

    def ready(self) -> bool:
        """Return whether there is a fork server; one that is missing is asked for now and then.

        One elsewhere may be starting anew: what cannot be started shall not be claimed.
        """
        self._take_over()
        self._was_there = self._forker is not None and self._forker.alive()
        if self._was_there:
            return True
        if self.clock.monotonic() < self._not_before:
            return False
        try:
            self.live()
        except ForkerError as error:
            self._failures += 1
            wait = self.pace.retry_after(self._failures)
            self._not_before = self.clock.monotonic() + wait
            log.warning("action=await_forker next_try=%.1f error=%s", wait, error)
            return False
        self._failures, self._was_there = 0, True
        return True

    def check(self) -> HealthCheck:
        """Tell whether there was a fork server when `ready` was last called; any thread may ask."""
        found = "is there" if self._was_there else "is missing; it is asked for again and again"
        return HealthCheck("fork server", self._was_there, found)

    def live(self) -> Forker:
        """Return the fork server, started anew if there is none; ForkerError if it cannot be."""
        self._take_over()
        if self._forker is None or not self._forker.alive():
            if self._forker is not None:
                log.warning("action=replace_forker: the fork server has died")
                self._forker.close()
                self._forker = None
            self._forker = self.start_forker()
        return self._forker

    def close(self) -> None:
        """End the fork server and all that it has started."""
        self._take_over()
        if self._forker is not None:
            self._forker.close()

    def _take_over(self) -> None:
        if self.starting is not None:
            with suppress(ForkerError, OSError):  # whoever needs it tries again, and says why not
                self._forker = self.starting.result()
            self.starting = None


def limits_of(given: WorkerSettings, until: float) -> ChildLimits:
    """Return what an attempt may use, and for how long."""
    return ChildLimits(
        until=until,
        open_files=given.max_attempt_open_files,
        niceness=given.attempt_niceness,
        processes=given.max_attempt_processes,
        memory_bytes=given.max_attempt_memory_bytes,
    )


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
