"""What attempts that were stopped have left in Spark, until it is certain that it has ended."""

import logging
from dataclasses import dataclass, field
from typing import Final

from headway.db.core.attempt_keys import AttemptKey
from headway.runtime.daemon.clock import Clock
from headway.runtime.forker import Child, ForkerError
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.lease_keeper import LeaseKeeper

log = logging.getLogger(__name__)

_PAUSE: Final = 1.0
_OBEDIENCE: Final = 20.0
"""Seconds that a server of the worker's own gets to end a session; then it is killed.

That of an attempt that was lost gets half of `kill_grace`, if that is less, as from its nanny.
"""


@dataclass(slots=True)
class _EndingSession:
    session_id: str
    since: float
    patience: float
    kill_at: float
    child: Child | None = None
    not_before: float = 0.0
    ended: bool = False
    given_up: bool = False


@dataclass(slots=True)
class SessionCleanup:
    """End the sessions of attempts, and know which have ended for certain.

    One on a server elsewhere that cannot be asked is given up after `spark_detached_timeout`.
    What runs on a server of the worker's own has ended, or that server is killed: of an
    attempt that was lost, before its lease can run out, for then another worker may begin it.
    Use it in the supervisor's thread; nothing here waits.
    """

    spark: SparkService
    leases: LeaseKeeper[AttemptKey]
    settings: WorkerSettings
    clock: Clock
    _cases: dict[AttemptKey, _EndingSession] = field(default_factory=dict)

    def begin(self, key: AttemptKey, session_id: str, patience: float | None = None) -> None:
        """Begin to end a session of an attempt, unless that has begun.

        `patience` is after how long it is given up, if not as long as any.
        """
        case = self._cases.get(key)
        if case is None or case.session_id != session_id:
            self.forget(key)
            longest, now = self.settings.spark_detached_timeout, self.clock.monotonic()
            seconds = longest if patience is None else min(patience, longest)
            self._cases[key] = _EndingSession(session_id, now, seconds, kill_at=now + _OBEDIENCE)
            self._look(key, self._cases[key])

    def step(self) -> None:
        """See what has come of it, and ask again where nothing has."""
        for key, case in self._cases.items():
            self._look(key, case)

    def under_way(self, key: AttemptKey) -> bool:
        """Whether something of the attempt may run on, and is being ended."""
        case = self._cases.get(key)
        return case is not None and not (case.ended or case.given_up)

    def problem(self, key: AttemptKey) -> str | None:
        """Say what is not certain about the end of an attempt, if anything is not."""
        case = self._cases.get(key)
        if case is None or not case.given_up:
            return None
        return (
            f"Its Spark session {case.session_id} could not be ended: for {case.patience:g} s the "
            "server has not answered. By itself it ends what no client follows."
        )

    def forget(self, key: AttemptKey) -> None:
        """Leave an attempt out that is over."""
        case = self._cases.pop(key, None)
        if case is not None and case.child is not None:
            case.child.close()

    def close(self) -> None:
        """Let go of everything."""
        for key in list(self._cases):
            self.forget(key)

    def _look(self, key: AttemptKey, case: _EndingSession) -> None:
        if case.ended or case.given_up:
            return
        self._enforce(key, case)
        if case.child is not None:
            exited = case.child.poll()
            if exited is None:
                return
            case.child.close()
            case.child, case.ended = None, exited.succeeded
            if case.ended:
                self.spark.end_python([key])
        case.ended = case.ended or self.spark.is_gone(key)
        now = self.clock.monotonic()
        if case.ended or now < case.not_before:
            return
        self._go_on(key, case, now)

    def _enforce(self, key: AttemptKey, case: _EndingSession) -> None:
        """Kill a server of the worker's own that does not obey in time."""
        now = self.clock.monotonic()
        if self.leases.has_ended(key):
            case.kill_at = min(case.kill_at, now + self.settings.kill_grace / 2)
        if now >= case.kill_at and self.spark.is_own(key):
            self.spark.kill_server(key)

    def _go_on(self, key: AttemptKey, case: _EndingSession, now: float) -> None:
        """Ask, or ask again; one elsewhere that does not answer in time is given up."""
        if not self.spark.is_own(key) and now - case.since >= case.patience:
            case.given_up = True
            return
        case.not_before = now + _PAUSE
        try:
            case.child = self.spark.release(key, case.session_id)
        except (ForkerError, OSError) as error:
            log.warning("action=release session=%s error=%s", case.session_id, error)
