"""SQL on re-pinning: a run that exists is given another version of its DAG."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from headway.db.changes.run_changes import LockedRun

KNOWN = text("""
    SELECT version.id, version.number,
           version.id IS NOT DISTINCT FROM (SELECT version_id FROM dag WHERE dag_id = :dag_id)
           AS in_force
      FROM dag_version AS version
     WHERE version.dag_id = :dag_id
       AND (version.id IN (:own, (SELECT version_id FROM dag WHERE dag_id = :dag_id))
            OR version.number = :number)
""")

NUMBERS = text("SELECT number FROM dag_version WHERE dag_id = :dag_id ORDER BY number DESC")

NUMBERED = text("SELECT id, number FROM dag_version WHERE id = ANY (:versions)")

NEWEST_WITH = text("""
    SELECT max(version.number)
      FROM dag_version AS version
      JOIN dag_task AS task ON task.version_id = version.id
     WHERE version.dag_id = :dag_id AND task.task_id = :task_id
""")

# Nothing is counted any more: the run is to be looked at as a whole.
REPIN = text("""
    UPDATE dag_run SET version_id = :version, pinned = true, unfinished = NULL
     WHERE id = ANY (:runs)
""")

# An attempt that is live keeps what it was queued with: this is for the ones to come.
FOLLOW = text("""
    UPDATE task_instance AS task
       SET pool = it.pool, pool_slots = it.pool_slots, queue = it.queue, priority = it.priority,
           limited = it.limited OR task.priority_class > 0
      FROM (SELECT dag_task.*,
                   version.max_active_tasks_per_dagrun IS NOT NULL
                   OR dag_task.max_active_tis_per_dag IS NOT NULL
                   OR dag_task.max_active_tis_per_dagrun IS NOT NULL AS limited
              FROM dag_task
              JOIN dag_version AS version ON version.id = dag_task.version_id
             WHERE dag_task.version_id = :version) AS it
     WHERE task.dag_run_id = ANY (:runs) AND task.task_id = it.task_id
       AND (task.pool, task.pool_slots, task.queue, task.priority, task.limited)
           IS DISTINCT FROM (it.pool, it.pool_slots, it.queue, it.priority,
                             it.limited OR task.priority_class > 0)
""")

# How their upstream stands is counted when the run is looked at as a whole.
FILL = text("""
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, pool, pool_slots, queue, priority,
                               priority_class, limited, up_total)
    SELECT :run, version.dag_id, task.task_id, task.pool, task.pool_slots, task.queue,
           task.priority, its.priority_class,
           its.priority_class > 0 OR version.max_active_tasks_per_dagrun IS NOT NULL
           OR task.max_active_tis_per_dag IS NOT NULL
           OR task.max_active_tis_per_dagrun IS NOT NULL,
           task.upstreams
      FROM dag_task AS task
      JOIN dag_version AS version ON version.id = task.version_id
     CROSS JOIN (SELECT coalesce(max(priority_class), 0) AS priority_class
                   FROM backfill
                  WHERE id = (SELECT backfill_id FROM dag_run WHERE id = :run)) AS its
     WHERE task.version_id = :version
       AND NOT EXISTS (SELECT FROM task_instance AS it
                        WHERE it.dag_run_id = :run AND it.task_id = task.task_id)
     ORDER BY task.position
""")


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a DAG: its id, its number."""

    id: int
    number: int


@dataclass(frozen=True, slots=True)
class VersionsOfRun:
    """The version that a run has, the one in force, and the one of a number, if there is one."""

    own: Version
    in_force: Version | None
    numbered: Version | None


def known(conn: Connection, run: LockedRun, number: int | None = None) -> VersionsOfRun:
    """Return the versions that may be meant for a run."""
    parameters = {"dag_id": run.dag_id, "own": run.version_id, "number": number}
    rows = conn.execute(KNOWN, parameters).all()
    found = {row.id: Version(row.id, row.number) for row in rows}
    return VersionsOfRun(
        found[run.version_id],
        next((found[row.id] for row in rows if row.in_force), None),
        next((version for version in found.values() if version.number == number), None),
    )


def numbers(conn: Connection, dag_id: str) -> list[int]:
    """Return the numbers of the versions of a DAG, the newest first."""
    return list(conn.scalars(NUMBERS, {"dag_id": dag_id}))


def numbered(conn: Connection, ids: Collection[int]) -> dict[int, int]:
    """Return the numbers of these versions, by id."""
    rows = conn.execute(NUMBERED, {"versions": list(ids)})
    return {row.id: row.number for row in rows}


def newest_with(conn: Connection, dag_id: str, task_id: str) -> int | None:
    """Return the number of the newest version of the DAG that has the task; None if none has."""
    number: int | None = conn.scalar(NEWEST_WITH, {"dag_id": dag_id, "task_id": task_id})
    return number


def repin(conn: Connection, runs: Sequence[int], version: int) -> None:
    """Give locked runs another version; what is there of that runs from then on as it says."""
    if runs:
        conn.execute(REPIN, {"runs": list(runs), "version": version})
        conn.execute(FOLLOW, {"runs": list(runs), "version": version})


def fill(conn: Connection, run: int, version: int) -> int:
    """Add to a run, undecided, the tasks of the version that it has not; return how many."""
    return conn.execute(FILL, {"run": run, "version": version}).rowcount
