"""SQL on what a DAG has been: its versions, each as it was.  Reads only."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

VERSIONS = text("""
    SELECT version.number, coalesce(version.id = dag.version_id, false) AS in_force,
           version.created_at, version.commit, version.fingerprint,
           (SELECT count(*) FROM dag_task WHERE version_id = version.id) AS tasks,
           (SELECT count(*) FROM dag_run WHERE version_id = version.id) AS runs,
           sha256(serialized) <> lag(sha256(serialized)) OVER in_order AS structure_changed,
           manifest_hash <> lag(manifest_hash) OVER in_order AS code_changed
      FROM dag_version AS version
      JOIN dag USING (dag_id)
     WHERE version.dag_id = :dag_id
    WINDOW in_order AS (ORDER BY version.number)
     ORDER BY version.number DESC
""")

ONE = text("""
    SELECT version.number, version.serialized, version.manifest_hash
      FROM dag_version AS version
     WHERE version.dag_id = :dag_id
       AND (version.number = :number
            OR CAST(:number AS int) IS NULL
               AND version.id = (SELECT version_id FROM dag WHERE dag_id = :dag_id))
""")

OF_RUN = text("""
    SELECT version.number, version.serialized, force.number AS in_force, run.pinned
      FROM dag_run AS run
      JOIN dag_version AS version ON version.id = run.version_id
      JOIN dag ON dag.dag_id = run.dag_id
      LEFT JOIN dag_version AS force ON force.id = dag.version_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
""")


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version of a DAG.

    `commit` is the commit at which the version was seen first, None for a plain folder.  `tasks`
    counts its tasks, `runs` the runs that have it.  The last two say whether its structure and
    its code differ from those of the version before, None for the first one.
    """

    number: int
    in_force: bool
    created_at: datetime
    commit: str | None
    fingerprint: str
    tasks: int
    runs: int
    structure_changed: bool | None
    code_changed: bool | None


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version as it is stored."""

    number: int
    serialized: bytes
    manifest_hash: str


@dataclass(frozen=True, slots=True)
class OfRun:
    """The version of a run as it is stored, and the number of the one in force.

    One that is not `pinned` may be another one when the run starts.
    """

    number: int
    serialized: bytes
    in_force: int | None
    pinned: bool


def versions(conn: Connection, dag_id: str) -> list[VersionView]:
    """Return the versions of a DAG, the newest first."""
    return [VersionView(**row) for row in conn.execute(VERSIONS, {"dag_id": dag_id}).mappings()]


def one(conn: Connection, dag_id: str, number: int | None) -> StoredVersion | None:
    """Return the version of that number, or the one in force; None when there is none."""
    row = conn.execute(ONE, {"dag_id": dag_id, "number": number}).one_or_none()
    if row is None:
        return None
    return StoredVersion(row.number, bytes(row.serialized), row.manifest_hash)


def of_run(conn: Connection, dag_id: str, run_id: str) -> OfRun | None:
    """Return the version of a run that is there."""
    row = conn.execute(OF_RUN, {"dag_id": dag_id, "run_id": run_id}).one_or_none()
    if row is None:
        return None
    return OfRun(row.number, bytes(row.serialized), row.in_force, row.pinned)
