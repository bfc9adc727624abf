"""The supervisor: it fills its slots with attempts, watches them, and reports how they end.

One thread watches the attempts and never touches the database; others do that, and
this one collects what comes of it.  So an attempt that must be stopped is stopped in
time, whatever the database does.
"""

import logging
import selectors
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from headway.db.attempts import AttemptKey
from headway.db.notices import STOP, WORKER, Notice
from headway.domain.errors import EmbeddedError, SerializationError
from headway.domain.states import Outcome
from headway.runtime.clock import Clock
from headway.runtime.forker import Child, Exit, ForkerError
from headway.runtime.frames import Frame
from headway.runtime.loop import Pace
from headway.runtime.settings import WorkerSettings
from headway.sdk.execution import Result
from headway_worker.attempt import Attempt
from headway_worker.chore import Chore
from headway_worker.claims import Claims
from headway_worker.clerk import Clerk, Work
from headway_worker.conclusion import CANCELLED, conclude, report_of
from headway_worker.launcher import Launcher
from headway_worker.questions import Questions
from headway_worker.reporter import Reporter
from headway_worker.spark.service import SparkService
from headway_worker.tenure import Tenure

log = logging.getLogger(__name__)

TICK = 0.1
"""Seconds after which deadlines are looked at, even when nothing happens."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a worker works with."""

    clerk: Clerk
    questions: Questions
    spark: SparkService
    launcher: Launcher
    pace: Pace


class Worker:
    """One worker.  Call `step` again and again, always from the same thread."""

    def __init__(self, means: Means, settings: WorkerSettings, clock: Clock) -> None:
        self._means, self._settings, self._clock = means, settings, clock
        self._attempts: dict[AttemptKey, Attempt] = {}
        self._awaiting_spark: list[Work] = []
        self._answers: dict[Future[Frame], Attempt] = {}
        self._cleaning: list[Child] = []
        self._draining = False

        self._selector = selectors.DefaultSelector()
        self._bell, self._button = socket.socketpair()
        self._bell.setblocking(False)
        self._button.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)

        self._threads = [ThreadPoolExecutor(1, name) for name in ("claim", "renew", "report")]
        claims, renewals, reports = self._threads
        self._askers = ThreadPoolExecutor(max(8, settings.slots), "answer")
        claiming: Chore[list[Work]] = Chore("claim", claims, self._ring, clock)
        self._claims = Claims(means.clerk, claiming, clock, means.pace)
        renewal: Chore[dict[AttemptKey, bool]] = Chore("renew", renewals, self._ring, clock)
        self._tenure = Tenure(means.clerk, settings, clock, renewal)
        reporting: Chore[None] = Chore("report", reports, self._ring, clock)
        self._reporter = Reporter(means.clerk, reporting, self._reported)
        self.rings: Mapping[Notice, Callable[[], None]] = {
            WORKER: claiming.hurry,
            STOP: renewal.hurry,
        }

    def step(self) -> bool:
        """Do all that can be done now, then wait a moment for something to happen."""
        waiting = [work.claimed.key for work in self._awaiting_spark]
        self._tenure.step([*self._attempts, *waiting, *self._reporter.keys()])
        self._take_work()
        self._cancel_those_awaiting_spark()
        self._start_those_awaiting_spark()
        self._watch()
        self._send_answers()
        for attempt in list(self._attempts.values()):
            self._enforce(attempt)
            exited = attempt.child.poll()
            if exited is not None:
                self._finish(attempt, exited)
        self._reporter.step()
        self._cleaning = [child for child in self._cleaning if not _has_gone(child)]
        return True

    def drain(self) -> bool:
        """Claim no more; return whether all that was claimed has ended and been reported."""
        self._draining = True
        claimed = self._attempts or self._awaiting_spark or self._claims.pending
        return not claimed and not self._reporter.keys() and not self._cleaning

    def hand_back(self) -> None:
        """Stop every attempt, so that another worker may begin it again."""
        for attempt in self._attempts.values():
            if not (attempt.handed_back or attempt.cancelled):
                attempt.handed_back = True
                attempt.log.say("[headway] The worker is stopping; the task is handed back.")
                attempt.child.stop(self._settings.kill_grace)

    def close(self) -> None:
        """Kill what still runs, and end every thread and process."""
        for attempt in self._attempts.values():
            attempt.child.kill()
        self._means.questions.stop.set()
        self._means.launcher.close()
        self._means.spark.close()
        for threads in (*self._threads, self._askers):
            threads.shutdown(wait=True, cancel_futures=True)
        for attempt in self._attempts.values():
            attempt.close()

    def _take_work(self) -> None:
        for work in self._claims.collect():
            self._tenure.grant(work.claimed.key, self._claims.asked_at)
            if self._tenure.has_ended(work.claimed.key):
                self._tenure.forget(work.claimed.key)  # preparing it has taken too long
            elif work.task.needs_spark:
                self._awaiting_spark.append(work)
            else:
                self._start(work)
        self._claims.step(self._free_slots())

    def _free_slots(self) -> int:
        if self._draining:
            return 0
        return self._settings.slots - len(self._attempts) - len(self._awaiting_spark)

    def _cancel_those_awaiting_spark(self) -> None:
        for work in list(self._awaiting_spark):
            if self._tenure.is_stopping(work.claimed.key):
                self._awaiting_spark.remove(work)
                self._report(work, CANCELLED)

    def _start_those_awaiting_spark(self) -> None:
        if self._awaiting_spark and self._means.spark.forker_ready():
            waiting, self._awaiting_spark = self._awaiting_spark, []
            for work in waiting:
                if self._tenure.has_ended(work.claimed.key):
                    self._tenure.forget(work.claimed.key)  # another worker's by now
                else:
                    self._start(work)

    def _start(self, work: Work) -> None:
        try:
            forker = self._means.spark.forker() if work.task.needs_spark else None
            attempt = self._means.launcher.launch(work, forker)
        except (EmbeddedError, SerializationError) as error:
            self._report(work, Result(outcome=Outcome.FAILED, error=str(error)))
            return
        except (OSError, ForkerError) as error:
            log.warning("action=hand_back task=%s error=%s", work.claimed.task_id, error)
            lost = Result(outcome=Outcome.LOST, error=f"The worker could not start it: {error}")
            self._report(work, lost, began=False)
            return
        self._attempts[work.claimed.key] = attempt
        attempt.watch(self._selector)
        log.info(
            "action=start dag=%s run=%s task=%s attempt=%d",
            work.claimed.dag_id,
            work.claimed.run_id,
            work.claimed.task_id,
            work.claimed.key.attempt,
        )

    def _watch(self) -> None:
        seconds = min(TICK, self._claims.due_in(self._free_slots()))
        for key, events in self._selector.select(seconds):
            if key.fileobj is self._bell:
                self._bell.recv(4096)
            elif events & selectors.EVENT_WRITE:
                key.data.send(self._selector)
            elif not self._serve(key.data, key.fileobj):
                self._selector.unregister(key.fileobj)

    def _serve(self, attempt: Attempt, source: object) -> bool:
        if source == attempt.log_pipe:
            return attempt.drain_log()
        if source is attempt.child:
            return attempt.child.poll() is None
        questions: list[Frame] = []
        open_still = attempt.receive(questions)
        for question in questions:
            attempt.note(question)
            future = self._askers.submit(self._means.questions.answer, attempt.work, question)
            future.add_done_callback(lambda _: self._ring())
            self._answers[future] = attempt
        return open_still

    def _send_answers(self) -> None:
        for future in [future for future in self._answers if future.done()]:
            attempt = self._answers.pop(future)
            if attempt.work.claimed.key in self._attempts:
                attempt.answer(future.result(), self._selector)

    def _enforce(self, attempt: Attempt) -> None:
        if self._tenure.has_ended(attempt.work.claimed.key):
            attempt.fence()
        elif self._tenure.is_stopping(attempt.work.claimed.key):
            attempt.cancel(self._settings.kill_grace)
        else:
            attempt.enforce_timeout(self._clock.monotonic(), self._settings.kill_grace)

    def _finish(self, attempt: Attempt, exited: Exit) -> None:
        work = attempt.work
        attempt.unwatch(self._selector)
        result = conclude(attempt.ending(exited), work.task)
        del self._attempts[work.claimed.key]
        self._claims.ended()
        if attempt.result is None and attempt.spark_session is not None:
            self._cleaning.extend(self._means.spark.release(attempt.spark_session))
        if attempt.fenced:
            self._tenure.forget(work.claimed.key)
        else:
            attempt.log.say(f"[headway] {result.outcome}: {result.error or 'done.'}")
            self._report(work, result)
        attempt.close()

    def _report(self, work: Work, result: Result, *, began: bool = True) -> None:
        log.info(
            "action=end dag=%s run=%s task=%s attempt=%d outcome=%s",
            work.claimed.dag_id,
            work.claimed.run_id,
            work.claimed.task_id,
            work.claimed.key.attempt,
            result.outcome,
        )
        self._reporter.add(report_of(work.claimed, work.task, result, began=began))

    def _reported(self, key: AttemptKey) -> None:
        self._tenure.forget(key)
        self._claims.reported()

    def _ring(self) -> None:
        with suppress(BlockingIOError):  # it rings already
            self._button.send(b"!")


def _has_gone(child: Child) -> bool:
    if child.poll() is None:
        return False
    child.close()
    return True
