"""A worker: one supervisor of attempts, one of callbacks, and the thread that watches children."""

import selectors
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headway.db.core.notices import CALLBACK, STOP, WORKER, Notice
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.daemon.wakeup import Button
from headway.runtime.processes.frames import Frame
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.attempts.answers import Answering
from headway_worker.attempts.attempt import AttemptKind
from headway_worker.attempts.launch import AttemptLauncher
from headway_worker.attempts.metrics import show_slots
from headway_worker.attempts.questions import Questions
from headway_worker.callbacks.callback import CallbackKind
from headway_worker.callbacks.launch import CallbackLauncher
from headway_worker.database.callback_database import CallbackDatabase
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.spark.service.cleanup import SessionCleanup
from headway_worker.spark.service.figures_writer import FiguresWriter
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.execution import MOST_READING, Execution
from headway_worker.supervision.lease_keeper import LeaseKeeper
from headway_worker.supervision.supervisor import Supervisor
from headway_worker.supervision.worker_host import WorkerHost

TICK = 0.1  # seconds after which deadlines are looked at, even when nothing happens


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """What a worker works with."""

    database: WorkerDatabase
    questions: Questions
    spark: SparkService
    launcher: AttemptLauncher
    pace: Pace

    def attempts(self, host: WorkerHost) -> AttemptKind:
        """Return what a supervisor of attempts needs."""
        leases = LeaseKeeper(self.database, host.settings, host.clock, host.background("renew"))
        cleanup = SessionCleanup(self.spark, leases, host.settings, host.clock)
        figures = FiguresWriter(self.database, self.spark, host.background("tell"), host.clock)
        return AttemptKind(self.database, leases, self.launcher, self.spark, cleanup, figures, host)

    def callbacks(self, host: WorkerHost) -> CallbackKind:
        """Return what a supervisor of callbacks needs; they have the same fork server."""
        database, renewals = CallbackDatabase(self.database), host.background("renew callbacks")
        leases = LeaseKeeper(database, host.settings, host.clock, renewals)
        given = self.launcher
        launcher = CallbackLauncher(given.forkers, given.settings, given.logs, given.scratch)
        return CallbackKind(database, leases, launcher, host)


class Worker:
    """One worker.  Call `step` again and again, always from the same thread."""

    def __init__(self, parts: WorkerParts, settings: WorkerSettings, clock: Clock) -> None:
        self._parts, self._clock = parts, clock
        self._draining = False
        self._idle_since: float | None = None
        self._selector, self._button = selectors.DefaultSelector(), Button()
        self._selector.register(self._button, selectors.EVENT_READ)
        ring = self._button.press
        self._host = WorkerHost(settings, clock, parts.pace, self._selector, ring)
        self._answering = Answering(parts.questions, settings.slots, ring)
        self._kind = parts.attempts(self._host)
        self._attempts = Supervisor(self._kind, self._host)
        self._callbacks = Supervisor(parts.callbacks(self._host), self._host)
        self._kind.renewed()
        self.rings: Mapping[Notice, Callable[[], None]] = {
            WORKER: self._attempts.claim_soon,
            STOP: self._kind.leases.chore.hurry,
            CALLBACK: self._callbacks.claim_soon,
        }

    def step(self) -> None:
        """Do all that can be done now, then wait a moment for something to happen."""
        self._kind.cleanup.step()
        self._attempts.step(draining=self._draining)
        self._callbacks.step(draining=self._draining)
        show_slots(self._host.settings.slots, self._attempts.taken_slots, self._attempts.free_slots)
        self._watch()
        self._answering.send(self._selector)
        self._kind.figures.step()
        self._parts.spark.tend()

    @property
    def failed(self) -> int:
        """How many tasks have failed for good of those whose attempts this worker has run."""
        return self._kind.failed

    @property
    def told_to_drain(self) -> bool:
        """Whether a user has asked that it takes no more, finishes, and ends."""
        return self._kind.leases.drain

    def drain(self) -> bool:
        """Claim no more; return whether all that was claimed has ended and been reported."""
        if not self._draining:
            self._draining = self._parts.database.draining = True
            self.rings[STOP]()  # so that the database knows of it at once
        pending = self._kind.figures.pending
        return self._attempts.at_rest and self._callbacks.at_rest and not pending

    def idle_for(self) -> float:
        """Return for how many seconds it has had nothing to do."""
        if self._attempts.busy or self._callbacks.busy or self._kind.figures.pending:
            self._idle_since = None
            return 0.0
        now = self._clock.monotonic()
        self._idle_since = now if self._idle_since is None else self._idle_since
        return now - self._idle_since

    def hand_back(self) -> None:
        """Stop every attempt and callback, so that another worker may begin it again."""
        self._attempts.hand_back()
        self._callbacks.hand_back()

    def close(self) -> None:
        """Kill what still runs, and end every thread and process."""
        supervisors = (self._attempts, self._callbacks)
        for supervisor in supervisors:
            supervisor.kill()
        self._answering.stop()
        self._kind.cleanup.close()
        self._parts.launcher.forkers.close()
        self._parts.spark.close()
        self._answering.close()
        self._host.close()
        for supervisor in supervisors:
            supervisor.close()

    def _watch(self) -> None:
        """Wait until something happens, and take what children say and print."""
        seconds = min(TICK, self._attempts.due_in(), self._callbacks.due_in())
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

    def _serve(self, execution: Execution[Any], source: object, until: float) -> bool:
        """Take what there is from one source; return whether there may be more to come."""
        if isinstance(source, int):  # after `until` it is left for the next step
            return self._clock.monotonic() > until or execution.drain(source)
        if source is execution.child:
            return execution.child.poll() is None
        questions: list[Frame] = []
        open_still = execution.receive(questions)
        while execution.spark_news:
            self._kind.figures.note(execution.work.claimed.key, execution.spark_news.pop(0))
        for question in questions:
            execution.note(question)
            self._answering.ask(execution, question)
        return open_still
