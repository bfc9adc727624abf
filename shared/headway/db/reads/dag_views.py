"""DAGs as they stand.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

DAGS = text("""
    SELECT dag.dag_id, dag.active, dag.paused, dag.tags, dag.description, dag.bundle,
           dag.relative_path, version.number AS version, dag.max_active_runs,
           dag.max_active_tasks, dag.next_interval_start, dag.next_interval_end,
           CASE WHEN dag.next_interval_start IS NOT NULL THEN dag.next_run_after END
               AS next_run_after,
           dag.schedule_error,
           (SELECT count(*) FROM dag_task WHERE version_id = dag.version_id) AS tasks,
           (SELECT count(*) FROM dag_run
             WHERE dag_run.dag_id = dag.dag_id AND state = 'running') AS running
      FROM dag
      LEFT JOIN dag_version AS version ON version.id = dag.version_id
     WHERE (CAST(:dag_id AS text) IS NULL OR dag.dag_id = :dag_id)
       AND (dag.active OR :inactive)
     ORDER BY dag.dag_id
""")

IN_FORCE = text("""
    SELECT version.id, version.number, version.serialized, dag.active, dag.paused
      FROM dag
      JOIN dag_version AS version ON version.id = dag.version_id
     WHERE dag.dag_id = :dag_id
""")

KEY_IN_FORCE = text("""
    SELECT version.id, version.fingerprint
      FROM dag
      JOIN dag_version AS version ON version.id = dag.version_id
     WHERE dag.dag_id = :dag_id
""")

FINGERPRINT = text("SELECT fingerprint FROM dag_version WHERE id = :version_id")

EXTENT = text("""
    SELECT (SELECT count(*) FROM dag_run WHERE dag_id = :dag_id) AS runs,
           (SELECT count(*) FROM dag_run
              JOIN task_instance AS task ON task.dag_run_id = dag_run.id
             WHERE dag_run.dag_id = :dag_id) AS instances,
           (SELECT count(*) FROM dag_version WHERE dag_id = :dag_id) AS versions
""")


@dataclass(frozen=True, slots=True)
class DagView:
    """A DAG.

    It is `active` while a DAG file defines it.  `version` is the number of the version in force,
    None before the first one.  The next interval and `next_run_after`, when its run falls due,
    are None where the schedule has no next run.  `schedule_error` says why the schedule cannot
    be asked.  `tasks` counts the tasks of the version in force, `running` the running runs.
    """

    dag_id: str
    active: bool
    paused: bool
    tags: Sequence[str]
    description: str | None
    bundle: str
    relative_path: str
    version: int | None
    max_active_runs: int
    max_active_tasks: int
    next_interval_start: datetime | None
    next_interval_end: datetime | None
    next_run_after: datetime | None
    schedule_error: str | None
    tasks: int
    running: int


@dataclass(frozen=True, slots=True)
class VersionInForce:
    """The version in force of a DAG: key, number, structure as bytes; and how the DAG stands."""

    version_id: int
    number: int
    serialized: bytes
    active: bool
    paused: bool


@dataclass(frozen=True, slots=True)
class DagExtent:
    """How much there is of a DAG: runs, their task instances, versions."""

    runs: int
    instances: int
    versions: int


def dags(conn: Connection, *, inactive: bool = False) -> list[DagView]:
    """Return all active DAGs by id; with `inactive` those that no DAG file defines, too."""
    rows = conn.execute(DAGS, {"dag_id": None, "inactive": inactive})
    return [DagView(**row) for row in rows.mappings()]


def dag(conn: Connection, dag_id: str) -> DagView | None:
    """Return that DAG, also one that no DAG file defines any more; None when there is none."""
    row = conn.execute(DAGS, {"dag_id": dag_id, "inactive": True}).mappings().one_or_none()
    return None if row is None else DagView(**row)


def in_force(conn: Connection, dag_id: str) -> VersionInForce | None:
    """Return the version in force of a DAG; None when there is none."""
    row = conn.execute(IN_FORCE, {"dag_id": dag_id}).one_or_none()
    if row is None:
        return None
    return VersionInForce(row.id, row.number, bytes(row.serialized), row.active, row.paused)


def key_in_force(conn: Connection, dag_id: str) -> tuple[int, str] | None:
    """Return the id and the fingerprint of the version in force; None when there is none."""
    row = conn.execute(KEY_IN_FORCE, {"dag_id": dag_id}).one_or_none()
    return None if row is None else (row.id, row.fingerprint)


def fingerprint(conn: Connection, version_id: int) -> str:
    """Return the fingerprint of a version, which is there."""
    return str(conn.execute(FINGERPRINT, {"version_id": version_id}).scalar_one())


def extent(conn: Connection, dag_id: str) -> DagExtent:
    """Return how much there is of a DAG."""
    return DagExtent(**conn.execute(EXTENT, {"dag_id": dag_id}).mappings().one())
