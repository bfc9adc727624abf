"""The callbacks and notifications of one worker: beside its attempts, in slots of their own.

It is stepped by the worker's one thread, which never touches the database.  What holds of
attempts holds here: a token, a lease, an end in time whatever the database does.
"""

import logging
import selectors
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from headway.db.execution.callback_claims import CallbackKey, CallbackReport
from headway.domain.errors import SerializationError
from headway.domain.states import CallbackState
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.forker import ForkerError
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.callbacks.launch import CallbackLauncher
from headway_worker.callbacks.outcome import conclude
from headway_worker.database.callback_database import (
    CallbackDatabase,
    CallbackWork,
    NotificationWork,
)
from headway_worker.supervision.background_call import RETRYING, BackgroundCall
from headway_worker.supervision.claims import Claims
from headway_worker.supervision.execution import Attempt
from headway_worker.supervision.lease_keeper import LeaseKeeper, Renewal
from headway_worker.supervision.reporter import Reporter

log = logging.getLogger(__name__)


CallWork: TypeAlias = CallbackWork | NotificationWork


def one_thread(name: str) -> Executor:
    """Return what does one thing at a time."""
    return ThreadPoolExecutor(1, name)


@dataclass(frozen=True, slots=True)
class WorkerHost:
    """What a crew shares with its worker; `ring` wakes the thread that waits on `selector`."""

    settings: WorkerSettings
    clock: Clock
    pace: Pace
    selector: selectors.BaseSelector
    ring: Callable[[], None]
    new_thread: Callable[[str], Executor] = one_thread


@dataclass(slots=True)
class CallbackCrew:
    """Call `step` again and again, always from the thread that owns the fork servers."""

    database: CallbackDatabase
    launcher: CallbackLauncher
    around: WorkerHost
    claiming: BackgroundCall[list[CallWork]] = field(init=False)
    _claims: Claims[CallWork] = field(init=False)
    _leases: LeaseKeeper[CallbackKey] = field(init=False)
    _reporter: Reporter[CallbackKey] = field(init=False)
    _threads: list[Executor] = field(init=False)
    _running: dict[CallbackKey, Attempt[CallWork]] = field(default_factory=dict)
    _failures: int = 0
    _not_before: float = 0.0

    def __post_init__(self) -> None:
        around, clock = self.around, self.around.clock
        names = ("callback claim", "callback renew", "callback report")
        self._threads = [around.new_thread(name) for name in names]
        claims, renewals, reports = self._threads
        self.claiming = BackgroundCall("claim callbacks", claims, around.ring, clock)
        self._claims = Claims(self.database, self.claiming, clock, around.pace)
        renewal: BackgroundCall[Renewal[CallbackKey]] = BackgroundCall(
            "renew callbacks", renewals, around.ring, clock
        )
        self._leases = LeaseKeeper(self.database, around.settings, clock, renewal)
        reporting: BackgroundCall[None] = BackgroundCall(
            "report callbacks", reports, around.ring, clock
        )
        self._reporter = Reporter(self.database, reporting, self._leases.forget)

    @property
    def busy(self) -> bool:
        """Whether there was something to do when it last looked."""
        return bool(self._running or self._claims.found or self._reporter.keys())

    @property
    def at_rest(self) -> bool:
        """Whether all that was claimed has ended and been reported."""
        return not (self._running or self._claims.pending or self._reporter.keys())

    def step(self, *, draining: bool) -> None:
        """Do all that can be done now."""
        claimed = [*self._running, *self._reporter.keys()]
        if claimed and self._leases.step(claimed):
            for key, callback in self._running.items():
                callback.child.hold_until(self._leases.until(key))
        self._take(draining=draining)
        for key, callback in list(self._running.items()):
            self._enforce(key, callback)
            if callback.child.poll() is not None:
                self._finish(key, callback)
        self._reporter.step(flood=self._claims.is_flood(len(self._running)))

    def hand_back(self) -> None:
        """Stop every callback, so that another worker may begin it again."""
        for callback in self._running.values():
            if not callback.handed_back:
                callback.handed_back = True
                callback.log.say("The worker is stopping; the callback is handed back.")
                callback.child.stop(self.around.settings.kill_grace)

    def close(self) -> None:
        """Kill what still runs, and end every thread.  The worker closes the fork servers."""
        for callback in self._running.values():
            callback.child.kill()
        for threads in self._threads:
            threads.shutdown(wait=True, cancel_futures=True)
        for callback in self._running.values():
            callback.shut()

    def _take(self, *, draining: bool) -> None:
        for work in self._claims.collect():
            self._leases.grant(work.claimed.key, self._claims.asked_at)
            if self._leases.has_ended(work.claimed.key):
                self._hand_back(work, "preparing it has taken too long")
            else:
                self._start(work)
        self._claims.step(self._free_slots(draining=draining))

    def _free_slots(self, *, draining: bool) -> int:
        resting = self.around.clock.monotonic() < self._not_before
        # What cannot be started shall not be claimed: each claim is one of few tries.
        if draining or resting or not self.launcher.forkers.ready():
            return 0
        return self.around.settings.callback_slots - len(self._running)

    def _start(self, work: CallWork) -> None:
        claimed = work.claimed
        try:
            callback = self.launcher.launch(work, self._leases.until(claimed.key))
        except SerializationError as error:  # nobody can start it
            why = f"It could not be begun: {error}"
            self._reporter.add(CallbackReport(claimed.key, CallbackState.FAILED, why))
            return
        except (OSError, ForkerError) as error:
            self._hand_back(work, error)
            return
        self._failures = 0
        self._running[claimed.key] = callback
        callback.watch(self.around.selector)
        log.info(
            "action=callback_start dag=%s run=%s task=%s event=%s callback=%d try=%d",
            claimed.dag_id,
            claimed.run_id,
            claimed.task_id,
            claimed.event,
            claimed.key.id,
            claimed.tries,
        )

    def _hand_back(self, work: CallWork, why: object) -> None:
        """Let another worker begin what was not begun here, and claim none for a moment.

        A try that calls nothing does not count.
        """
        key = work.claimed.key
        self._failures += 1
        wait = RETRYING.retry_after(self._failures)
        self._not_before = self.around.clock.monotonic() + wait
        log.warning("action=not_started callback=%d rest=%.1f error=%s", key.id, wait, why)
        self._reporter.add(CallbackReport(key, CallbackState.QUEUED))

    def _enforce(self, key: CallbackKey, callback: Attempt[CallWork]) -> None:
        if self._leases.has_ended(key):
            callback.fence()
        else:
            now, grace = self.around.clock.monotonic(), self.around.settings.kill_grace
            callback.enforce_timeout(now, grace)
        callback.log.tick()

    def _finish(self, key: CallbackKey, callback: Attempt[CallWork]) -> None:
        exited = callback.child.poll()
        assert exited is not None
        callback.unwatch(self.around.selector)
        ending = callback.ending(exited)
        report = None
        if not callback.fenced:
            report = conclude(key, ending, self.around.settings.callback_timeout)
        del self._running[key]
        self._claims.ended()
        if report is None:
            callback.shut()
            self._leases.forget(key)
        else:
            if report.error is not None:
                report = replace(report, error=callback.masker.mask(report.error))
            over = None if report.state is CallbackState.QUEUED else str(report.state)
            callback.shut(f"{report.state}: {report.error or 'done.'}", over)
            log.info("action=callback_end callback=%d state=%s", key.id, report.state)
            self._reporter.add(report)
