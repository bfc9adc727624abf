"""The supervisor: it fills its slots with attempts, watches them, and reports how they end.

One thread watches the attempts and never touches the database; others do that, and
this one collects what comes of it.  So an attempt that must be stopped is stopped in
time, whatever the database does.
"""

import logging
import selectors
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.notices import CALLBACK, STOP, WORKER, Notice
from headway.domain.errors import EmbeddedError, SerializationError
from headway.domain.states import Outcome, TaskState
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.forker import Exit, ForkerError
from headway.runtime.processes.frames import Frame
from headway.runtime.settings.worker import WorkerSettings
from headway.sdk.harness.execution import Result
from headway_worker.attempts.answers import Answering
from headway_worker.attempts.awaiting import AwaitingSpark
from headway_worker.attempts.launch import AttemptLauncher
from headway_worker.attempts.metrics import Counts, show_slots
from headway_worker.attempts.questions import Questions
from headway_worker.callbacks.crew import CallbackCrew, WorkerHost
from headway_worker.callbacks.launch import CallbackLauncher
from headway_worker.database.callback_database import CallbackDatabase
from headway_worker.database.worker_database import AttemptWork, WorkerDatabase
from headway_worker.spark.service.cleanup import SessionCleanup
from headway_worker.spark.service.figures_writer import FiguresWriter
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.background_call import BackgroundCall
from headway_worker.supervision.claims import Claims
from headway_worker.supervision.execution import MOST_READING, Attempt
from headway_worker.supervision.lease_keeper import LeaseKeeper, Renewal
from headway_worker.supervision.outcome import CANCELLED, HANDED_BACK, conclude, masked, report_of
from headway_worker.supervision.reporter import Reporter
from headway_worker.supervision.wakeup import Button

log = logging.getLogger(__name__)

_AFTERWARDS = 5.0  # seconds for the server to confirm that a failed attempt has nothing there

TICK = 0.1  # seconds after which deadlines are looked at, even when nothing happens


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """What a worker works with."""

    database: WorkerDatabase
    questions: Questions
    spark: SparkService
    launcher: AttemptLauncher
    pace: Pace

    @property
    def callbacks(self) -> CallbackLauncher:
        """What launches callbacks, by the same fork server."""
        its = self.launcher
        return CallbackLauncher(its.forkers, its.settings, its.logs, its.scratch)


class Worker:
    """One worker.  Call `step` again and again, always from the same thread."""

    def __init__(self, parts: WorkerParts, settings: WorkerSettings, clock: Clock) -> None:
        self._parts, self._settings, self._clock = parts, settings, clock
        self._attempts: dict[AttemptKey, Attempt[AttemptWork]] = {}
        self._ending: dict[AttemptKey, tuple[Attempt[AttemptWork], Result]] = {}
        self._draining, self._counts = False, Counts(clock)
        self._idle_since: float | None = None
        self.failed = 0
        self._selector, self._button = selectors.DefaultSelector(), Button()
        self._selector.register(self._button, selectors.EVENT_READ)
        self._threads = [ThreadPoolExecutor(1, it) for it in ("claim", "renew", "report", "tell")]
        claims, renewals, reports, tellings = self._threads
        self._answering = Answering(parts.questions, settings.slots, self._button.press)
        claiming: BackgroundCall[list[AttemptWork]] = BackgroundCall(
            "claim", claims, self._button.press, clock
        )
        self._claims = Claims(parts.database, claiming, clock, parts.pace)
        renewal: BackgroundCall[Renewal[AttemptKey]] = BackgroundCall(
            "renew", renewals, self._button.press, clock
        )
        self._leases = LeaseKeeper(parts.database, settings, clock, renewal)
        self._awaiting = AwaitingSpark(parts.spark, self._leases)
        self._cleanup = SessionCleanup(parts.spark, self._leases, settings, clock)
        reporting: BackgroundCall[None] = BackgroundCall(
            "report", reports, self._button.press, clock
        )
        self._reporter = Reporter(parts.database, reporting, self._reported)
        telling: BackgroundCall[list[AttemptKey]] = BackgroundCall(
            "tell", tellings, self._button.press, clock
        )
        self._figures = FiguresWriter(parts.database, parts.spark, telling, clock)
        around = WorkerHost(settings, clock, parts.pace, self._selector, self._button.press)
        self._callbacks = CallbackCrew(CallbackDatabase(parts.database), parts.callbacks, around)
        self._pass_down()
        self.rings: Mapping[Notice, Callable[[], None]] = {
            WORKER: claiming.hurry,
            STOP: renewal.hurry,
            CALLBACK: self._callbacks.claiming.hurry,
        }

    def step(self) -> None:
        """Do all that can be done now, then wait a moment for something to happen."""
        waiting = self._awaiting.keys
        if self._leases.step([*self._attempts, *self._ending, *waiting, *self._reporter.keys()]):
            self._pass_down()
        self._take_work()
        self._reporter.step(flood=self._claims.is_flood(len(self._attempts)))
        for work in self._awaiting.cancelled():
            self._report(work, CANCELLED)
        for work in self._awaiting.ready():
            self._start(work)
        self._watch()
        self._answering.send(self._selector)
        for attempt in list(self._attempts.values()):
            self._enforce(attempt)
            if attempt.child.exit is not None:
                self._finish(attempt, attempt.child.exit)
        self._cleanup.step()
        for key in [key for key in self._ending if not self._cleanup.under_way(key)]:
            self._conclude(*self._ending.pop(key))
        self._figures.step()
        self._parts.spark.tend()
        self._callbacks.step(draining=self._draining)

    @property
    def told_to_drain(self) -> bool:
        """Whether a user has asked that it takes no more, finishes, and ends."""
        return self._leases.drain

    def drain(self) -> bool:
        """Claim no more; return whether all that was claimed has ended and been reported."""
        if not self._draining:
            self._draining = self._parts.database.draining = True
            self.rings[STOP]()  # so that the database knows of it at once
        return not self._claims.pending and not self._busy() and self._callbacks.at_rest

    def idle_for(self) -> float:
        """Return for how many seconds it has had nothing to do."""
        if self._busy() or self._claims.found or self._callbacks.busy:
            self._idle_since = None
            return 0.0
        now = self._clock.monotonic()
        self._idle_since = now if self._idle_since is None else self._idle_since
        return now - self._idle_since

    def _taken(self) -> int:
        return len(self._attempts) + len(self._ending) + len(self._awaiting.keys)

    def _busy(self) -> bool:
        return bool(self._taken() or self._reporter.keys() or self._figures.pending)

    def hand_back(self) -> None:
        """Stop every attempt, so that another worker may begin it again."""
        for attempt in self._attempts.values():
            attempt.hand_back(self._settings.kill_grace)
        for work in self._awaiting.handed_over():
            self._report(work, HANDED_BACK, began=False)
        self._callbacks.hand_back()

    def close(self) -> None:
        """Kill what still runs, and end every thread and process."""
        for attempt in self._attempts.values():
            attempt.child.kill()
        self._callbacks.close()
        self._answering.stop()
        self._cleanup.close()
        self._parts.launcher.forkers.close()
        self._parts.spark.close()
        self._answering.close()
        for threads in self._threads:
            threads.shutdown(wait=True, cancel_futures=True)
        for attempt in (*self._attempts.values(), *(ending for ending, _ in self._ending.values())):
            attempt.close()

    def _take_work(self) -> None:
        for work in self._claims.collect():
            self._counts.claimed(work.claimed)
            self._leases.grant(work.claimed.key, self._claims.asked_at)
            if self._leases.has_ended(work.claimed.key):
                self._leases.forget(work.claimed.key)  # preparing it has taken too long
            elif work.task.needs_spark:
                self._awaiting.add(work)
            else:
                self._start(work)
        self._claims.step(self._free_slots())

    def _free_slots(self) -> int:
        free = self._settings.slots - self._taken()
        free = (
            free if free > 0 and not self._draining and self._parts.launcher.forkers.ready() else 0
        )
        show_slots(self._settings.slots, self._taken(), free)
        return free

    def _start(self, work: AttemptWork) -> None:
        key = work.claimed.key
        try:
            forker = self._parts.spark.forker() if work.task.needs_spark else None
            attempt = self._parts.launcher.launch(work, self._leases.until(key), forker)
        except (EmbeddedError, SerializationError) as error:
            minds = work.claimed.handle is not None
            outcome = Outcome.LOST if minds else Outcome.FAILED
            self._report(work, Result(outcome=outcome, error=str(error)), began=not minds)
            return
        except (OSError, ForkerError) as error:
            log.warning("action=hand_back task=%s error=%s", work.claimed.task_id, error)
            lost = Result(outcome=Outcome.LOST, error=f"The worker could not start it: {error}")
            self._report(work, lost, began=False)
            return
        self._attempts[key] = attempt
        attempt.watch(self._selector)
        self._counts.started(work.claimed)
        log.info("action=start %s", work.name)

    def _pass_down(self) -> None:
        """Tell the nannies until when attempts may live; they enforce it without this process."""
        for key, attempt in self._attempts.items():
            attempt.child.hold_until(self._leases.until(key))
        self._parts.spark.hold(self._leases.until)

    def _watch(self) -> None:
        seconds = min(TICK, self._claims.due_in(self._free_slots()), self._reporter.due_in())
        ready, until = self._selector.select(seconds), self._clock.monotonic() + MOST_READING
        for key, events in ready:
            if key.fileobj is self._button:
                self._button.release()
            elif events & selectors.EVENT_WRITE:
                key.data.send(self._selector)
            elif not self._serve(key.data, key.fileobj, until):
                self._selector.unregister(key.fileobj)
                if key.fileobj is key.data.child.channel:
                    key.data.lost_hearing(self._clock.monotonic())

    def _serve(self, attempt: Attempt[Any], source: object, until: float) -> bool:
        if isinstance(source, int):  # after `until` it is left for the next step
            return self._clock.monotonic() > until or attempt.drain(source)
        if source is attempt.child:
            return attempt.child.poll() is None
        questions: list[Frame] = []
        open_still = attempt.receive(questions)
        while attempt.spark_news:
            self._figures.note(attempt.work.claimed.key, attempt.spark_news.pop(0))
        for question in questions:
            attempt.note(question)
            self._answering.ask(attempt, question)
        return open_still

    def _enforce(self, attempt: Attempt[AttemptWork]) -> None:
        claimed = attempt.work.claimed
        if self._leases.has_ended(claimed.key):
            attempt.fence()
        elif self._leases.is_stopping(claimed.key) and not claimed.is_called_off:
            attempt.cancel(self._settings.kill_grace)
        else:
            attempt.enforce_timeout(self._clock.monotonic(), self._settings.kill_grace)
            attempt.enforce_hearing(self._clock.monotonic())
        if attempt.is_stopped:
            self._end_spark(attempt)
        attempt.log.tick()

    def _finish(self, attempt: Attempt[AttemptWork], exited: Exit) -> None:
        work = attempt.work
        attempt.unwatch(self._selector)
        ending, called_off = attempt.ending(exited), work.claimed.is_called_off
        result = masked(conclude(ending, work.task, called_off=called_off), attempt.masker)
        del self._attempts[work.claimed.key]
        self._claims.ended()
        if attempt.result is None:
            self._end_spark(attempt)
        elif attempt.result.outcome is not Outcome.SUCCESS:
            self._end_spark(attempt, _AFTERWARDS)  # it may have failed to end it itself
        self._ending[work.claimed.key] = attempt, result

    def _end_spark(self, attempt: Attempt[AttemptWork], patience: float | None = None) -> None:
        """Begin to end what an attempt has in Spark, without waiting for it."""
        if attempt.spark_session is not None:
            key = attempt.work.claimed.key
            self._cleanup.begin(key, attempt.spark_session, patience)

    def _conclude(self, attempt: Attempt[AttemptWork], result: Result) -> None:
        """Report an attempt of which nothing runs any more, in its process or in Spark."""
        work, key = attempt.work, attempt.work.claimed.key
        if problem := self._cleanup.problem(key):
            error = attempt.masker.mask(f"{result.error or result.outcome} {problem}")
            result = replace(result, error=error)
        self._cleanup.forget(key)
        self._figures.end(key, attempt.spark_session)
        lost = attempt.fenced or self._leases.has_ended(key)
        attempt.close(None if lost else result)
        if lost:
            self._counts.given_away(key)
            self._leases.forget(key)
        else:
            self._report(work, result, left=attempt.outlived_by)

    def _report(
        self, work: AttemptWork, result: Result, *, began: bool = True, left: str | None = None
    ) -> None:
        log.info("action=end %s outcome=%s", work.name, result.outcome)
        report = report_of(work.claimed, work.task, result, began=began, left=left)
        self._counts.ended(work.claimed, result.outcome)
        self.failed += report.following.state is TaskState.FAILED
        self._reporter.add(report)

    def _reported(self, key: AttemptKey) -> None:
        self._leases.forget(key)
        self._claims.reported()
