"""One attempt's life, from its claim to its report.

CLAIMED     The worker has the attempt and the code of its version.  The attempt starts, or waits
            for the fork server that has imported pyspark.
WAITING     The attempt holds its slot until that fork server is ready.
RUNNING     A child process runs the task.  The first cause that applies stops the child: the lease
            is over (the child is killed at once); a user or the run stops the task; the task has
            run for `execution_timeout`; the child has closed or spoiled its channel.  A worker
            that stops hands the attempt back.  The state ends with the whole process tree.
ENDING      The worker ends the Spark session that the attempt has left, if any.
REPORTING   The worker sends the outcome until the database has committed it.
DROPPED     The lease is over.  Another worker may have the attempt, so nothing is reported.
"""

import logging
from dataclasses import dataclass, field, replace

from headway.db.core.attempt_keys import AttemptKey
from headway.domain.errors import EmbeddedError, SerializationError
from headway.domain.states import Outcome, TaskState
from headway.runtime.forker import Exit, ForkerError
from headway.sdk.harness.execution import Result
from headway_worker.attempts.launch import AttemptLauncher
from headway_worker.attempts.metrics import Counts
from headway_worker.database.worker_database import AttemptWork, WorkerDatabase
from headway_worker.spark.service.cleanup import SessionCleanup
from headway_worker.spark.service.figures_writer import FiguresWriter
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.held import Held, WorkState
from headway_worker.supervision.lease_keeper import LeaseKeeper
from headway_worker.supervision.outcome import CANCELLED, HANDED_BACK, conclude, masked, report_of
from headway_worker.supervision.worker_host import WorkerHost

log = logging.getLogger(__name__)

_AFTERWARDS = 5.0  # seconds for the server to confirm that a failed attempt has nothing there


@dataclass(slots=True)
class AttemptKind:
    """What a supervisor needs for attempts, and what attempts work with.

    `failed` counts those whose task has failed for good.
    """

    database: WorkerDatabase
    leases: LeaseKeeper[AttemptKey]
    launcher: AttemptLauncher
    spark: SparkService
    cleanup: SessionCleanup
    figures: FiguresWriter
    host: WorkerHost
    counts: Counts = field(init=False)
    failed: int = 0
    names: tuple[str, str] = ("claim", "report")
    always_renews: bool = True

    def __post_init__(self) -> None:
        self.counts = Counts(self.host.clock)

    def may_start(self) -> bool:
        """Whether there is a fork server."""
        return self.launcher.forkers.ready()

    def hold(self, work: AttemptWork) -> "Attempt":
        """Return the object that follows an attempt to its report."""
        self.counts.claimed(work.claimed)
        return Attempt(work, self)

    def renewed(self) -> None:
        """Let the worker's own Spark servers live as long as the attempts on them may."""
        self.spark.hold(self.leases.until)


class Attempt(Held[AttemptKey]):
    """One claimed attempt; this module's docstring tells its states."""

    execution: Execution[AttemptWork] | None

    def __init__(self, work: AttemptWork, kind: AttemptKind) -> None:
        super().__init__()
        self._work, self._kind = work, kind
        self._result: Result | None = None

    @property
    def key(self) -> AttemptKey:
        """The key of its lease."""
        return self._work.claimed.key

    def step(self) -> None:
        """Go on as far as that is possible without waiting."""
        if self.state is WorkState.CLAIMED:
            self._begin()
        if self.state is WorkState.WAITING:
            self._wait_for_spark()
        if self.state is WorkState.RUNNING:
            self._watch()
        if self.state is WorkState.ENDING:
            self._end()

    def hand_back(self) -> None:
        """Stop it, so that another worker may begin it again."""
        if self.state is WorkState.WAITING:
            if self._lease_is_over():
                self.state = WorkState.DROPPED
            else:
                self._report(HANDED_BACK, began=False)
        elif self.state is WorkState.RUNNING and self.execution is not None:
            self.execution.hand_back(self._kind.host.settings.kill_grace)

    def _begin(self) -> None:
        if self._lease_is_over():  # preparing it has taken too long
            self.state = WorkState.DROPPED
        elif self._work.task.needs_spark:
            self._kind.spark.foresee(self._work)
            self.state = WorkState.WAITING
        else:
            self._start()

    def _wait_for_spark(self) -> None:
        told_to_stop = self._kind.leases.is_stopping(self.key)
        if self._lease_is_over():
            self.state = WorkState.DROPPED
        elif told_to_stop and not self._work.claimed.handle:
            self._report(CANCELLED)
        elif self._kind.spark.forker_ready():
            self._start()

    def _start(self) -> None:
        kind, work = self._kind, self._work
        try:
            forker = kind.spark.forker() if work.task.needs_spark else None
            execution = kind.launcher.launch(work, kind.leases.until(self.key), forker)
        except (EmbeddedError, SerializationError) as error:
            follows = work.claimed.handle is not None  # an application of an earlier attempt
            outcome = Outcome.LOST if follows else Outcome.FAILED
            self._report(Result(outcome=outcome, error=str(error)), began=not follows)
            return
        except (OSError, ForkerError) as error:
            log.warning("action=hand_back task=%s error=%s", work.claimed.task_id, error)
            lost = Result(outcome=Outcome.LOST, error=f"The worker could not start it: {error}")
            self._report(lost, began=False)
            return
        self.execution, self.state = execution, WorkState.RUNNING
        execution.watch(kind.host.selector)
        kind.counts.started(work.claimed)
        log.info("action=start %s", work.name)

    def _watch(self) -> None:
        """Stop the child if there is a cause to; see whether it has ended."""
        execution = self.execution
        assert execution is not None
        claimed, settings = self._work.claimed, self._kind.host.settings
        if self._lease_is_over():
            execution.fence()
        elif self._kind.leases.is_stopping(self.key) and not claimed.is_called_off:
            execution.cancel(settings.kill_grace)
        else:
            now = self._kind.host.clock.monotonic()
            execution.enforce_timeout(now, settings.kill_grace)
            execution.enforce_hearing(now)
        if execution.is_stopped:
            self._end_session(execution)
        execution.log.tick()
        if execution.child.exit is not None:
            self._exited(execution, execution.child.exit)

    def _exited(self, execution: Execution[AttemptWork], exited: Exit) -> None:
        """Note how it ended, and begin to end what it has left in Spark."""
        execution.unwatch(self._kind.host.selector)
        ending, called_off = execution.ending(exited), self._work.claimed.is_called_off
        result = conclude(ending, self._work.task, called_off=called_off)
        self._result = masked(result, execution.masker)
        if execution.result is None:
            self._end_session(execution)
        elif execution.result.outcome is not Outcome.SUCCESS:
            self._end_session(execution, _AFTERWARDS)  # it may have failed to end it itself
        self.state = WorkState.ENDING

    def _end_session(
        self, execution: Execution[AttemptWork], patience: float | None = None
    ) -> None:
        if execution.spark_session is not None:
            self._kind.cleanup.begin(self.key, execution.spark_session, patience)

    def _end(self) -> None:
        """Report the attempt once nothing of it runs any more, in its process or in Spark."""
        execution, result, kind = self.execution, self._result, self._kind
        assert execution is not None
        assert result is not None
        if kind.cleanup.under_way(self.key):
            return
        if problem := kind.cleanup.problem(self.key):
            error = execution.masker.mask(f"{result.error or result.outcome} {problem}")
            result = replace(result, error=error)
        kind.cleanup.forget(self.key)
        kind.figures.end(self.key, execution.spark_session)
        if execution.fenced or self._lease_is_over():
            execution.close()
            kind.counts.given_away(self.key)
            self.state = WorkState.DROPPED
        else:
            execution.close(result)
            self._report(result, left=execution.outlived_by)

    def _report(self, result: Result, *, began: bool = True, left: str | None = None) -> None:
        work, counts = self._work, self._kind.counts
        log.info("action=end %s outcome=%s", work.name, result.outcome)
        report = report_of(work.claimed, work.task, result, began=began, left=left)
        counts.ended(work.claimed, result.outcome)
        self._kind.failed += report.following.state is TaskState.FAILED
        self.send(report)

    def _lease_is_over(self) -> bool:
        return self._kind.leases.has_ended(self.key)
