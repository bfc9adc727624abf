"""Start attempts: the fork server, the log, the order."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway.db.attempts import Claimed
from headway.runtime.attempt_logs import LogKey
from headway.runtime.clock import Clock
from headway.runtime.forker import Forker
from headway.runtime.settings import WorkerSettings
from headway.sdk.facts import RunFacts
from headway_worker.attempt import Attempt
from headway_worker.clerk import Work
from headway_worker.log_file import LogFile
from headway_worker.order import Order

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a worker: where logs are kept, and where attempts may write."""

    logs: Path
    scratch: Path


@dataclass(slots=True)
class Launcher:
    """Start attempts from a fork server, which is replaced when it has died.

    Use it in one thread that lives as long as the worker: its processes end with it.
    """

    start_forker: Callable[[], Forker]
    settings: WorkerSettings
    places: Places
    clock: Clock
    _forker: Forker | None = None

    def warm_up(self) -> None:
        """Have the fork server ready before the first attempt comes."""
        self._live()

    def launch(self, work: Work, forker: Forker | None = None) -> Attempt:
        """Start an attempt, by another fork server when one is given.

        OSError or ForkerError when that is impossible.
        """
        claimed = work.claimed
        key = LogKey(
            claimed.dag_id, claimed.run_id, claimed.task_id, claimed.map_index, claimed.key.attempt
        )
        attempt_log = LogFile(key.path(self.places.logs), self.settings.max_log_bytes, self.clock)
        name = f"{claimed.key.task_instance_id}-{claimed.key.attempt}"
        order = Order(
            code=work.code,
            relative_path=work.dag.relative_path,
            facts=facts_of(claimed),
            attempt_key=name,
            max_xcom_bytes=self.settings.max_xcom_bytes,
        )
        scratch = self.places.scratch / name
        attempt = Attempt.start(work, order, forker or self._live(), attempt_log, scratch)
        timeout = work.task.execution_timeout
        attempt.deadline = None if timeout is None else self.clock.monotonic() + timeout
        attempt_log.say(f"[headway] Attempt {claimed.key.attempt} of {work.task.operator} task.")
        return attempt

    def close(self) -> None:
        """End the fork server and all that it has started."""
        if self._forker is not None:
            self._forker.close()

    def _live(self) -> Forker:
        if self._forker is None or not self._forker.alive():
            if self._forker is not None:
                log.warning("action=replace_forker: the fork server has died")
                self._forker.close()
            self._forker = self.start_forker()
        return self._forker


def facts_of(claimed: Claimed) -> RunFacts:
    """Return what a task is told about the run and the attempt that were claimed."""
    return RunFacts(
        dag_id=claimed.dag_id,
        run_id=claimed.run_id,
        task_id=claimed.task_id,
        run_type=claimed.run_type,
        data_interval=claimed.interval,
        logical_date=claimed.interval.start,
        run_after=claimed.run_after,
        start_date=claimed.run_started_at,
        conf=claimed.conf,
        try_number=claimed.key.attempt,
        map_index=claimed.map_index,
    )
