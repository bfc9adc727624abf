"""Claimed attempts that cannot start before the fork server for Spark is there."""

from dataclasses import dataclass, field

from headway.db.core.attempt_keys import AttemptKey
from headway_worker.database.worker_database import AttemptWork
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.lease_keeper import LeaseKeeper


@dataclass(slots=True)
class AwaitingSpark:
    """They hold their slots, and their leases are renewed meanwhile."""

    spark: SparkService
    leases: LeaseKeeper[AttemptKey]
    _waiting: list[AttemptWork] = field(default_factory=list)

    @property
    def keys(self) -> list[AttemptKey]:
        """Which they are."""
        return [work.claimed.key for work in self._waiting]

    def add(self, work: AttemptWork) -> None:
        """Have one wait, and what it needs started."""
        self.spark.foresee(work)
        self._waiting.append(work)

    def cancelled(self) -> list[AttemptWork]:
        """Return those that need not start any more: they were told to stop, and mind nothing."""
        told = [work for work in self._waiting if self.leases.is_stopping(work.claimed.key)]
        stopping = [work for work in told if not work.claimed.handle]
        self._waiting = [work for work in self._waiting if work not in stopping]
        return stopping

    def ready(self) -> list[AttemptWork]:
        """Return those that can start now."""
        if not self._waiting or not self.spark.forker_ready():
            return []
        return self.handed_over()

    def handed_over(self) -> list[AttemptWork]:
        """Return those that are still this worker's, and wait for nothing more."""
        waiting, self._waiting = self._waiting, []
        for key in [work.claimed.key for work in waiting if self._is_lost(work)]:
            self.leases.forget(key)  # another worker's by now
        return [work for work in waiting if not self._is_lost(work)]

    def _is_lost(self, work: AttemptWork) -> bool:
        return self.leases.has_ended(work.claimed.key)
