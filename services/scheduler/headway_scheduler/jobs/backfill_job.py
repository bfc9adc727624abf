"""The backfill's job: the runs of one backfill, reserved for it, until all have ended."""

from dataclasses import dataclass

from headway.db.reads import backfill_views
from headway.db.reads.backfill_views import BackfillProgress
from headway.db.scheduling import scope
from headway.domain.errors import BackfillNotFoundError, ConflictError
from headway.domain.hints import Action, act, hint
from headway_scheduler.jobs.dag_run_job import DagRunJob


@dataclass
class BackfillJob(DagRunJob):
    """Schedule the runs of a backfill in this process, and leave all others alone.

    When it dies its runs are released: the schedulers go on with them.
    """

    backfill_id: int = 0

    def submit_backfill(self) -> list[int]:
        """Reserve every unfinished run of the backfill that no other job has.

        NotFoundError when there is none, ConflictError when none of them would start.
        """
        with self.replica.engine.connect() as conn:
            hold = backfill_views.hold(conn, self.backfill_id)
            unfinished = backfill_views.unfinished(conn, self.backfill_id)
        if hold is None:
            raise BackfillNotFoundError(
                f"There is no backfill {self.backfill_id}.",
                hint=hint(act(Action.LIST_BACKFILLS), " shows them all."),
            )
        if hold.why is not None:
            raise ConflictError(f"Backfill {self.backfill_id} starts no run now.", hint=hold.why)
        reserved = self.submit(unfinished)
        if not reserved:
            show = act(Action.SHOW_BACKFILL, backfill_id=self.backfill_id)
            raise BackfillNotFoundError(
                f"Backfill {self.backfill_id} has no run left that no other job has.",
                hint=hint(show, " shows how it stands."),
            )
        return reserved

    def has_ended(self) -> bool:
        """Whether no run that is reserved for this job is unfinished."""
        with self.replica.engine.connect() as conn:
            return not scope.reserved(conn, self.replica.me.id)

    def progress(self) -> BackfillProgress:
        """Return how far the backfill has come."""
        with self.replica.engine.connect() as conn:
            found = backfill_views.progress(conn, self.backfill_id)
        if not found:
            raise BackfillNotFoundError(
                f"Backfill {self.backfill_id} is gone: its DAG was deleted."
            )
        return found[0]
