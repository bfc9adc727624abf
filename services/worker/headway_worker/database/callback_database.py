"""The dealings with the database that are about callbacks, one transaction each."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from headway.db.core import processes
from headway.db.core.engine import reader
from headway.db.core.processes import Identity
from headway.db.execution import callback_claims, notification_claims
from headway.db.execution.callback_claims import (
    CallbackKey,
    CallbackReport,
    ClaimedCallback,
    DueWork,
)
from headway.db.execution.notification_claims import ClaimedNotification, NotificationKey
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import HeadwayError
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.protocol.supply import Code
from headway_worker.supervision.lease_keeper import Renewal

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallbackWork:
    """A claimed callback, its DAG, and its version's code."""

    claimed: ClaimedCallback
    dag: DagSpec
    code: Code


@dataclass(frozen=True, slots=True)
class NotificationWork:
    """A claimed notification; no code of a user belongs to it."""

    claimed: ClaimedNotification


@dataclass(slots=True)
class CallbackDatabase:
    """Claim, renew and report callbacks and notifications, as `WorkerDatabase` does attempts.

    What a look has found tells the claim that follows it what to claim.
    """

    database: WorkerDatabase
    _due: DueWork = field(init=False, default=DueWork(callbacks=True, notifications=True))

    @property
    def slots(self) -> int:
        """How many callbacks may run at a time."""
        return self.database.settings.callback_slots

    def any_queued(self) -> bool:
        """Whether there is anything to claim; it may be another worker's in a moment."""
        with reader(self.database.engine).connect() as conn:
            self._due = callback_claims.due(conn, self.database.settings.queues)
        return self._due.callbacks or self._due.notifications

    def claim(self, free_slots: int) -> list[CallbackWork | NotificationWork]:
        """Take callbacks that are due into free slots, and notifications into what is left."""
        me, settings = self.database.me, self.database.settings
        seconds = settings.lease_duration
        claimed: list[ClaimedCallback] = []
        messages: list[ClaimedNotification] = []
        with self.database.engine.begin() as conn:
            processes.confirm(conn, me)
            if self._due.callbacks:
                claimed = callback_claims.claim(conn, me, settings.queues, free_slots, seconds)
            if self._due.notifications and free_slots > len(claimed):
                left = free_slots - len(claimed)
                messages = notification_claims.claim(conn, me, left, seconds)
        prepared = [self._prepare(each) for each in claimed]
        notifications = [NotificationWork(each) for each in messages]
        return [*(work for work in prepared if work is not None), *notifications]

    def renew(self, keys: Sequence[CallbackKey]) -> Renewal[CallbackKey]:
        """Extend claims; return those that are still this worker's: none is told to stop."""
        if not keys:
            return Renewal({})
        with self.database.engine.begin() as conn:
            seconds = self.database.settings.lease_duration
            messages = [key for key in keys if isinstance(key, NotificationKey)]
            others = [key for key in keys if not isinstance(key, NotificationKey)]
            mine: set[CallbackKey] = set()
            if others:
                mine |= callback_claims.renew(conn, others, seconds)
            if messages:
                mine |= notification_claims.renew(conn, messages, seconds)
            return Renewal(dict.fromkeys(mine, False))

    def report(self, reports: Sequence[CallbackReport]) -> None:
        """End callbacks.  One that was given away meanwhile is refused, which is only logged."""
        with self.database.engine.begin() as conn:
            processes.confirm(conn, self.database.me)
            for report in sorted(reports, key=lambda its: its.key.id):
                if not _report(conn, self.database.me, report):
                    log.warning(
                        "action=refused callback=%d state=%s: it is no longer this worker's",
                        report.key.id,
                        report.state,
                    )

    def _prepare(self, claimed: ClaimedCallback) -> CallbackWork | None:
        """Return the work; without it the claim runs out, and another worker has its try."""
        try:
            dag, code = self.database.fetch(claimed.version_id, claimed.manifest_hash)
        except (HeadwayError, OSError, SQLAlchemyError, KeyError):
            log.exception("action=not_prepared callback=%d", claimed.key.id)
            return None
        return CallbackWork(claimed, dag, code)


def _report(conn: Connection, me: Identity, report: CallbackReport) -> bool:
    if isinstance(report.key, NotificationKey):
        return notification_claims.report(conn, me, report.key, report)
    return callback_claims.report(conn, me, report)
