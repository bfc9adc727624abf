"""How far a backfill has come, in words."""

from headway.db.reads.backfill_views import BackfillProgress


def line(progress: BackfillProgress) -> str:
    """Return the progress in one line."""
    return " | ".join([headline(progress), *counts(progress)])


def headline(progress: BackfillProgress) -> str:
    """Return the percentage of its tasks that have ended."""
    percent = 100.0 * progress.tasks_ended / max(progress.tasks, 1)
    return f"[backfill progress: {percent:.1f}%]"


def counts(progress: BackfillProgress) -> list[str]:
    """Return how many runs and tasks there are, and how many tasks have ended, and how."""
    return [
        f"total dagruns: {progress.planned}",
        f"total tasks: {progress.tasks}",
        f"finished: {progress.tasks_ended}",
        f"succeeded: {progress.tasks_succeeded}",
        f"skipped: {progress.tasks_skipped}",
        f"failed: {progress.tasks_failed}",
    ]
