"""The backfill's job: the runs of one backfill, reserved for it, until all have ended."""

from dataclasses import dataclass

from headway.db import backfills, reservations
from headway.db.backfills import Progress
from headway_scheduler.dag_run_job import DagRunJob


@dataclass
class BackfillJob(DagRunJob):
    """Schedule the runs of a backfill in this process, and leave all others alone.

    When it dies its runs are released: the schedulers go on with them.
    """

    backfill_id: int = 0

    def submit_backfill(self) -> list[int]:
        """Reserve every unfinished run of the backfill that no other job has."""
        with self.replica.engine.connect() as conn:
            unfinished = backfills.unfinished(conn, self.backfill_id)
        return self.submit(unfinished)

    def has_ended(self) -> bool:
        """Whether no run that is reserved for this job is unfinished."""
        with self.replica.engine.connect() as conn:
            return not reservations.reserved(conn, self.replica.me.id)

    def progress(self) -> Progress:
        """Return how far the backfill has come."""
        with self.replica.engine.connect() as conn:
            (found,) = backfills.progress(conn, self.backfill_id)
        return found
