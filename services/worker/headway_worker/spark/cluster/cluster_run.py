"""Applications of one attempt: in cluster mode the driver runs on, and outlives the attempt.

    save the handle ─▶ submit ─▶ save its id ─▶ ask, ask, … ─▶ the end
          ▲ the next attempt begins here: it asks what became of the handle before it submits

Invariants: a handle by which the application can be found is saved before it is submitted.
Nothing is submitted, in any mode, before the application of the last handle in cluster mode is
known to have ended, or never to have arrived, or a user was asked to look.  Of an application in
client mode nothing is asked: its driver has ended with its attempt, and its executors on a
cluster end when they have lost it.  Told to stop, this has the application killed, and waits
until it has ended.  An attempt that was called off before it began does nothing else.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event
from types import FrameType
from typing import Final, NoReturn
from uuid import uuid4

from headway.domain.spark_work import CLUSTER, Handle, name_of
from headway.domain.states import Outcome
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.unraisable import raised_again
from headway.sdk.exceptions import AirflowFailException
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.app_outcome import (
    ENDED,
    AppOutcome,
    AppReport,
    PriorApp,
    Step,
    first_step,
)
from headway_worker.spark.cluster.cluster_queries import ClusterTools
from headway_worker.spark.cluster.submission import Submission
from headway_worker.spark.cluster.submit_command import new_tag, placed, submission_id
from headway_worker.spark.target.errors import SparkError

PATIENCE: Final = 600.0
"""Seconds for which a cluster that does not answer is asked again."""

PATIENCE_OF_ENDING: Final = 300.0
"""The same for an attempt that is there for nothing else: the next one asks on."""

STOPPED: Final = "The attempt was told to stop. What it had on the cluster has ended."

_KILL_PAUSE: Final = 1.0
_ALWAYS_RUNNING: Final = Event()


class ToldToStop(BaseException):
    """The attempt was told to stop.  No error of Spark's, and not for user code to catch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRun:
    """One attempt's run of an application, after that of an earlier attempt.

    `prior` returns the handle of the last earlier attempt that may have left one running.
    """

    submission: Submission
    cluster: ClusterTools
    prior: Callable[[], PriorApp | None]
    say: Callable[[str], None]
    clock: Clock
    called_off: bool = False
    patience: float = PATIENCE

    def run(self, application: SparkApplication) -> None:
        """See to it that the application runs once, and wait for its end; SparkError if it fails.

        What runs on a cluster is killed when this process gets SIGTERM, or is interrupted.
        """
        if self.called_off:
            self._settle()
        in_cluster = application.deploy_mode == CLUSTER
        handles: list[Handle] = []
        with _stop_signals() as signals, self._ending_at_a_stop(handles):
            if in_cluster:
                self.cluster.check()
            with signals.held():  # nobody may stop between the answer and the note of it
                prior = self._prior(handles)
            if prior is not None and self._has_done(prior, application):
                return
            handles.clear()
            if in_cluster:
                self._submit(application, handles)
        if not in_cluster:
            self.submission.run(application)

    @contextmanager
    def _ending_at_a_stop(self, handles: list[Handle]) -> Iterator[None]:
        try:
            yield
        except (ToldToStop, KeyboardInterrupt):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # that was heard
            if handles:
                self._end(handles[-1])
                self._note_end(handles[-1])
            raise SparkError(STOPPED) from None

    def _settle(self) -> NoReturn:
        """See to the end of what earlier attempts have left; SparkError when that has come."""
        prior = self.prior()
        if prior is not None and not prior.refused:
            self._first_step(replace(prior, outcome=Outcome.CANCELLED))
            self._note_end(prior.handle)
        raise SparkError(STOPPED)

    def _note_end(self, handle: Handle) -> None:
        """Tell whoever minds the application that it need not be minded any more."""
        self.submission.on_handle({**handle, "ended": "yes"})

    def _prior(self, handles: list[Handle]) -> PriorApp | None:
        """Return what an earlier attempt has left, which is to be ended if this one must stop.

        It becomes this attempt's own, so that its end, whichever it is, is of that application
        too; but one that had to stop goes on being one that had to.
        """
        prior = self.prior()
        if prior is None or prior.refused:
            return None
        mark = {"stopped": str(prior.outcome)} if prior.stopped else {}
        handles.append({**prior.handle, **mark})
        self.submission.on_handle(handles[-1])
        return prior

    def _has_done(self, prior: PriorApp, application: SparkApplication) -> bool:
        """Whether the application of an earlier attempt has done what this one is for."""
        step = self._first_step(prior)
        if step not in (Step.TAKE, Step.ATTACH):
            return False
        if step is Step.ATTACH:
            self._await_end(prior.handle, application)
        return True

    def _submit(self, application: SparkApplication, handles: list[Handle]) -> None:
        tag, master = new_tag(self.submission.attempt_key, uuid4().hex[:12]), self._master
        handle: Handle = {"kind": "submit", "mode": CLUSTER, "tag": tag, "master": master}
        application = placed(application, master, self.submission.settings.spark_defaults)
        known = submission_id(application, tag, master)
        if known is not None:
            handle = {**handle, "submission_id": known}
        handles.append(handle)
        ended = self.submission.submit(application, handle)
        handles.append(ended.handle)
        if ended.code != 0 and self.cluster.ask(ended.handle).outcome is not AppOutcome.RUNNING:
            raise SparkError(ended.failure(application))
        handle = {**ended.handle, "submitted": "yes"}
        self.submission.on_handle(handle)
        self._await_end(handle, application)

    def _first_step(self, prior: PriorApp) -> Step:
        told, name = self._answer(prior.handle), name_of(prior.handle)
        step = first_step(prior, told.outcome)
        self.say(f"An earlier attempt has left {name}: {told.outcome}. {told.why}".strip())
        if step is None:
            raise SparkError(
                f"The cluster does not tell what became of {name}, which an earlier attempt has "
                f"submitted, so nothing is submitted now. It says: {told.why}"
            )
        if step is Step.REFUSE:
            self.submission.on_handle({**prior.handle, "refused": "yes"})
            raise AirflowFailException(
                f"An earlier attempt has submitted {name}, of which the cluster knows nothing any "
                "more: whether it did its work cannot be told. Look, and clear the task to submit "
                "it again, or mark it as success."
            )
        if step is Step.KILL:
            return first_step(prior, self._end(prior.handle).outcome) or Step.SUBMIT
        return step

    def _await_end(self, handle: Handle, application: SparkApplication) -> None:
        name, before = name_of(handle), ""
        while True:
            told = self._answer(handle)
            if told.why != before:
                self.say(f"{name}: {told.why}")
                before = told.why
            match told.outcome:
                case AppOutcome.SUCCEEDED:
                    return
                case AppOutcome.FAILED:
                    raise SparkError(f"{name} has failed: {told.why}")
                case AppOutcome.ABSENT:
                    raise SparkError(f"{name} is gone: somebody has deleted it. {told.why}")
                case AppOutcome.UNKNOWN:
                    raise SparkError(
                        f"For {self.patience:g} s the cluster has not told how {name} is; the next "
                        f"attempt asks again. It says: {told.why}"
                    )
            self._wait(application.status_poll_interval)

    def _answer(self, handle: Handle) -> AppReport:
        """Return what the cluster tells, asking again while it does not answer."""
        deadline, pause = self.clock.monotonic() + self.patience, 1.0
        while (told := self.cluster.ask(handle)).outcome is AppOutcome.UNKNOWN:
            if self.clock.monotonic() >= deadline:
                break
            self.say(f"The cluster does not answer; it is asked again. {told.why}")
            self._wait(pause)
            pause = min(2 * pause, 30.0)
        return told

    def _end(self, handle: Handle) -> AppReport:
        """Have the application killed, and wait until the cluster says that it has ended."""
        name = name_of(handle)
        self.say(f"Killing {name}.")
        while True:
            self.cluster.kill(handle)
            told = self.cluster.ask(handle)
            if told.outcome in ENDED:
                self.say(f"{name} has ended: {told.outcome}. {told.why}".strip())
                return told
            self._wait(_KILL_PAUSE)

    def _wait(self, seconds: float) -> None:
        self.clock.wait(_ALWAYS_RUNNING, seconds)

    @property
    def _master(self) -> str:
        return self.submission.settings.master


@dataclass(slots=True)
class _Signals:
    """Raises ToldToStop at a signal, or as soon as it is no longer held."""

    _holding: bool = field(default=False, init=False)
    _told: bool = field(default=False, init=False)

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Raise ToldToStop, now or at the end of what is held."""
        self._told = True
        if not self._holding:
            raise ToldToStop

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold what comes until the end of this."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._told:
            raise ToldToStop


@contextmanager
def _stop_signals() -> Iterator[_Signals]:
    """Have SIGTERM raise ToldToStop in here; only the main thread of a process is told of it."""
    signals = _Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = signal.signal(signal.SIGTERM, signals)
    try:
        with raised_again(ToldToStop, signals.stop):
            yield signals
    finally:
        signal.signal(signal.SIGTERM, before)
