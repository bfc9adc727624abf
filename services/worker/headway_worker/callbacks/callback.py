"""The life of one callback or notification, from its claim to its report.

CLAIMED     The worker has the callback, which starts.  If it cannot start, the worker hands it back
            and claims no callback for a moment: each claim uses up one of a few tries.
RUNNING     A child process calls the functions, or sends the message.
REPORTING   The worker sends how the callback ended until the database has committed it.
DROPPED     Nothing is reported.  The claim runs out, which counts as a try.
"""

import logging
from dataclasses import dataclass, replace
from typing import TypeAlias

from headway.db.execution.callback_claims import CallbackKey, CallbackReport
from headway.domain.errors import SerializationError
from headway.domain.states import CallbackState
from headway.runtime.forker import Exit, ForkerError
from headway_worker.callbacks.launch import CallbackLauncher
from headway_worker.callbacks.outcome import conclude
from headway_worker.database.callback_database import (
    CallbackDatabase,
    CallbackWork,
    NotificationWork,
)
from headway_worker.supervision.background_call import RETRYING
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.held import Held, WorkState
from headway_worker.supervision.lease_keeper import LeaseKeeper
from headway_worker.supervision.worker_host import WorkerHost

log = logging.getLogger(__name__)

CallWork: TypeAlias = CallbackWork | NotificationWork


@dataclass(slots=True)
class CallbackKind:
    """What a supervisor needs for callbacks and notifications, and what these work with."""

    database: CallbackDatabase
    leases: LeaseKeeper[CallbackKey]
    launcher: CallbackLauncher
    host: WorkerHost
    names: tuple[str, str] = ("claim callbacks", "report callbacks")
    always_renews: bool = False
    _failures: int = 0
    _not_before: float = 0.0

    def may_start(self) -> bool:
        """Whether there is a fork server, and the last start did not fail just before."""
        rested = self.host.clock.monotonic() >= self._not_before
        return rested and self.launcher.forkers.ready()

    def hold(self, work: CallWork) -> "Callback":
        """Return the object that follows a callback to its report."""
        return Callback(work, self)

    def renewed(self) -> None:
        """Take note that leases were renewed: nothing but nannies needs to know."""

    def started(self) -> None:
        """Take note that a callback could be started."""
        self._failures = 0

    def could_not_start(self) -> float:
        """Claim none for a moment, longer each time; return the seconds."""
        self._failures += 1
        wait = RETRYING.retry_after(self._failures)
        self._not_before = self.host.clock.monotonic() + wait
        return wait


class Callback(Held[CallbackKey]):
    """One claimed callback or notification; this module's docstring tells its states."""

    execution: Execution[CallWork] | None

    def __init__(self, work: CallWork, kind: CallbackKind) -> None:
        super().__init__()
        self._work, self._kind = work, kind

    @property
    def key(self) -> CallbackKey:
        """The key of its claim."""
        return self._work.claimed.key

    def step(self) -> None:
        """Go on as far as that is possible without waiting."""
        if self.state is WorkState.CLAIMED:
            self._begin()
        if self.state is WorkState.RUNNING:
            self._watch()

    def hand_back(self) -> None:
        """Stop it, so that another worker may begin it again."""
        execution = self.execution
        if self.state is WorkState.RUNNING and execution and not execution.handed_back:
            execution.handed_back = True
            execution.log.say("The worker is stopping; the callback is handed back.")
            execution.child.stop(self._kind.host.settings.kill_grace)

    def _begin(self) -> None:
        if self._kind.leases.has_ended(self.key):
            self._not_started("preparing it has taken too long")
            return
        try:
            execution = self._kind.launcher.launch(self._work, self._kind.leases.until(self.key))
        except SerializationError as error:  # nobody can start it
            why = f"It could not be begun: {error}"
            self.send(CallbackReport(self.key, CallbackState.FAILED, why))
        except (OSError, ForkerError) as error:
            self._not_started(error)
        else:
            self._started(execution)

    def _started(self, execution: Execution[CallWork]) -> None:
        self._kind.started()
        self.execution, self.state = execution, WorkState.RUNNING
        execution.watch(self._kind.host.selector)
        claimed = self._work.claimed
        log.info(
            "action=callback_start dag=%s run=%s task=%s event=%s callback=%d try=%d",
            claimed.dag_id,
            claimed.run_id,
            claimed.task_id,
            claimed.event,
            claimed.key.id,
            claimed.tries,
        )

    def _not_started(self, why: object) -> None:
        """Let another worker begin it.  A try that calls nothing does not count."""
        wait = self._kind.could_not_start()
        log.warning("action=not_started callback=%d rest=%.1f error=%s", self.key.id, wait, why)
        self.send(CallbackReport(self.key, CallbackState.QUEUED))

    def _watch(self) -> None:
        """Stop the child if there is a cause to; see whether it has ended."""
        execution, host = self.execution, self._kind.host
        assert execution is not None
        if self._kind.leases.has_ended(self.key):
            execution.fence()
        else:
            execution.enforce_timeout(host.clock.monotonic(), host.settings.kill_grace)
        execution.log.tick()
        if execution.child.exit is not None:
            self._exited(execution, execution.child.exit)

    def _exited(self, execution: Execution[CallWork], exited: Exit) -> None:
        execution.unwatch(self._kind.host.selector)
        ending, report = execution.ending(exited), None
        if not execution.fenced:
            report = conclude(self.key, ending, self._kind.host.settings.callback_timeout)
        if report is None:
            execution.shut()
            self.state = WorkState.DROPPED
            return
        if report.error is not None:
            report = replace(report, error=execution.masker.mask(report.error))
        over = None if report.state is CallbackState.QUEUED else str(report.state)
        execution.shut(f"{report.state}: {report.error or 'done.'}", over)
        log.info("action=callback_end callback=%d state=%s", self.key.id, report.state)
        self.send(report)
