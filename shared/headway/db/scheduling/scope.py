"""What a pass may take: all DAGs and runs, or some, or those that one job alone schedules."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from sqlalchemy import Connection, text

RESERVE = text("""
    UPDATE dag_run SET lock_id = :job
     WHERE id = ANY (:runs) AND lock_id IS NULL AND state IN ('queued', 'running')
 RETURNING id
""")


UNLOCK = text("UPDATE dag_run SET lock_id = NULL WHERE id = ANY (:runs) AND lock_id = :job")


RESERVED = text("""
    SELECT id FROM dag_run WHERE lock_id = :job AND state IN ('queued', 'running') ORDER BY id
""")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which runs a job schedules: its own, and, unless `own_alone`, those that nobody reserved."""

    job: int
    own_alone: bool = False

    def parameters(self) -> dict[str, object]:
        """Return what the statements that respect reservations want to know."""
        return {"job": self.job, "own_alone": self.own_alone}


def lock(conn: Connection, runs: Sequence[int], job: int) -> list[int]:
    """Reserve unfinished runs for a job; return those that no other job has."""
    return list(conn.scalars(RESERVE, {"runs": list(runs), "job": job}))


def unlock(conn: Connection, runs: Sequence[int], job: int) -> None:
    """Leave runs to every job again."""
    conn.execute(UNLOCK, {"runs": list(runs), "job": job})


def reserved(conn: Connection, job: int) -> list[int]:
    """Return the unfinished runs that the job has reserved."""
    return list(conn.scalars(RESERVED, {"job": job}))


K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class KeyFilter(Generic[K]):
    """By their keys: these `only`, when any are named, and none of those set `aside`."""

    only: Collection[K] | None = None
    aside: Collection[K] = ()

    def parameters(self) -> dict[str, object]:
        """Return what the statements that lock want to know."""
        only = None if self.only is None else list(self.only)
        return {"only": only, "aside": list(self.aside)}


ANY_DAG: Final[KeyFilter[str]] = KeyFilter()


ANY_RUN: Final[KeyFilter[int]] = KeyFilter()
