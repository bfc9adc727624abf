"""Start attempts: the fork server, the log, the order."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from headway.db.attempts import Claimed
from headway.domain.callbacks import MOST_TRIES
from headway.domain.handle import outliving
from headway.domain.notifiers import MOST_SENDS
from headway.domain.states import Outcome
from headway.runtime.attempt_logs import CallbackLogKey, LogKey
from headway.runtime.clock import Clock
from headway.runtime.forker import ChildLimits, Forker, ForkerError
from headway.runtime.health import HealthCheck
from headway.runtime.loop import Pace
from headway.runtime.settings import WorkerSettings
from headway.sdk.facts import RunFacts
from headway_worker.attempt import Attempt
from headway_worker.callbacks.clerk import CallbackWork, NotificationWork
from headway_worker.callbacks.ordering import order_of
from headway_worker.clerk import AttemptWork
from headway_worker.logs import Logs
from headway_worker.notifications.order import order_of as order_of_notification
from headway_worker.order import TaskOrder
from headway_worker.program import ChildOrder
from headway_worker.scratch import ScratchFolders

log = logging.getLogger(__name__)

LEAST_TO_END: Final = 60.0
"""Seconds that an attempt gets which has nothing to do but to end an application."""


def untraced(_claimed: Claimed) -> None:
    """Begin an attempt that nobody traces."""


@dataclass(slots=True)
class ForkServers:
    """Start attempts from a fork server, which may be `starting`, and is replaced when it has died.

    Use it in one thread that lives as long as the worker: its processes end with it.
    Attempts and callbacks get folders of their own from `scratch`, whose folder is the one to
    write in that a fork server elsewhere has in common with the worker.  `traced` hears of each
    attempt that begins, and returns what the spans of its task are below, if anything.
    """

    start_forker: Callable[[], Forker]
    settings: WorkerSettings
    logs: Logs
    scratch: ScratchFolders
    clock: Clock
    pace: Pace = field(default_factory=Pace)
    starting: Future[Forker] | None = None
    traced: Callable[[Claimed], str | None] = untraced
    _forker: Forker | None = None
    _failures: int = 0
    _not_before: float = 0.0
    _was_there: bool = False

    def warm_up(self) -> None:
        """Have the fork server ready before the first attempt; ForkerError if it cannot be."""
        self._live()

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
            self._live()
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

    def launch(
        self, work: AttemptWork, until: float, forker: Forker | None = None
    ) -> Attempt[AttemptWork]:
        """Start an attempt that must end at `until`, by another fork server when one is given.

        OSError or ForkerError when that is impossible.
        """
        claimed = work.claimed
        key = LogKey(
            claimed.dag_id, claimed.run_id, claimed.task_id, claimed.map_index, claimed.key.attempt
        )
        attempt_log = self.logs.open(key)
        name = f"{claimed.key.task_instance_id}-{claimed.key.attempt}"
        order = TaskOrder(
            code=work.code,
            relative_path=work.dag.relative_path,
            facts=facts_of(claimed),
            attempt_key=name,
            max_xcom_bytes=self.settings.max_xcom_bytes,
            is_called_off=claimed.is_called_off,
            traceparent=self.traced(claimed),
        )
        limits = limits_of(self.settings, until)
        try:
            forker = forker or self._live()
            scratch = self.scratch.take(name)
            attempt = Attempt.start(work, order, forker, attempt_log, scratch, limits)
        except BaseException:
            attempt_log.close("The worker could not start it.", str(Outcome.LOST))
            raise
        attempt.cluster_grace = self.settings.cluster_kill_grace
        attempt.outlived_by = outliving(claimed.handle)
        timeout = work.task.execution_timeout
        if claimed.is_called_off:
            timeout = max(attempt.cluster_grace, LEAST_TO_END)
        attempt.deadline = None if timeout is None else self.clock.monotonic() + timeout
        attempt_log.say(f"Attempt {claimed.key.attempt} of {work.task.operator} task.")
        return attempt

    def launch_callback(
        self, work: CallbackWork | NotificationWork, until: float
    ) -> Attempt[CallbackWork | NotificationWork]:
        """Start a callback that must end at `until`; errors are those of `launch`."""
        claimed, kind = work.claimed, "callback"
        if isinstance(work, NotificationWork):
            kind = "notification"
        key = CallbackLogKey(claimed.dag_id, claimed.run_id, claimed.key.id, claimed.tries, kind)
        own_log = self.logs.open(key)
        try:
            order: ChildOrder = self._order_of(work)
            limits, forker = limits_of(self.settings, until), self._live()
            scratch = self.scratch.take(f"{kind}s/{claimed.key.id}-{claimed.tries}")
            callback = Attempt.start(work, order, forker, own_log, scratch, limits)
        except BaseException:
            own_log.close("The worker could not start it.", str(Outcome.LOST))
            raise
        callback.deadline = self.clock.monotonic() + self.settings.callback_timeout
        what = f"task {claimed.task_id}" if claimed.task_id else "the run"
        most = MOST_SENDS if isinstance(work, NotificationWork) else MOST_TRIES
        own_log.say(
            f"{kind.capitalize()} {claimed.key.id} for {claimed.event} of {what}, try "
            f"{claimed.tries} of {most}."
        )
        return callback

    def _order_of(self, work: CallbackWork | NotificationWork) -> ChildOrder:
        if isinstance(work, NotificationWork):
            return order_of_notification(work.claimed, self.settings.base_url or "")
        return order_of(work.claimed, work.code, work.dag.relative_path)

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

    def _live(self) -> Forker:
        self._take_over()
        if self._forker is None or not self._forker.alive():
            if self._forker is not None:
                log.warning("action=replace_forker: the fork server has died")
                self._forker.close()
                self._forker = None
            self._forker = self.start_forker()
        return self._forker


def limits_of(given: WorkerSettings, until: float) -> ChildLimits:
    """Return what an attempt may use, and for how long."""
    return ChildLimits(
        until=until,
        open_files=given.max_attempt_open_files,
        niceness=given.attempt_niceness,
        processes=given.max_attempt_processes,
        memory_bytes=given.max_attempt_memory_bytes,
    )


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
