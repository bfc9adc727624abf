"""SQL on what a DAG has been: its versions, each as it was.  Reads only."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage

VERSIONS = text("""
    SELECT version.number, coalesce(version.id = dag.version_id, false) AS in_force,
           version.created_at, version.commit, version.fingerprint,
           (SELECT count(*) FROM dag_task WHERE version_id = version.id) AS tasks,
           (SELECT count(*) FROM dag_run WHERE version_id = version.id) AS runs,
           sha256(version.serialized) <> sha256(former.serialized) AS structure_changed,
           version.manifest_hash <> former.manifest_hash AS code_changed
      FROM (SELECT * FROM dag_version
             WHERE dag_id = :dag_id
               AND (CAST(:before AS int) IS NULL OR number < :before)
               AND (CAST(:number AS int) IS NULL OR number = :number)
             ORDER BY number DESC
             LIMIT :limit) AS version
      JOIN dag ON dag.dag_id = version.dag_id
      LEFT JOIN LATERAL (
           SELECT serialized, manifest_hash FROM dag_version AS it
            WHERE it.dag_id = version.dag_id AND it.number < version.number
            ORDER BY it.number DESC
            LIMIT 1) AS former ON true
     WHERE CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[]))
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
    wanted = {"dag_id": dag_id, "number": None, "before": None, "bundles": None, "limit": None}
    return [VersionView(**row) for row in conn.execute(VERSIONS, wanted).mappings()]


def version(conn: Connection, dag_id: str, number: int) -> VersionView | None:
    """Return the version of that number; None when there is none."""
    wanted = {"dag_id": dag_id, "number": number, "before": None, "bundles": None, "limit": 1}
    row = conn.execute(VERSIONS, wanted).mappings().one_or_none()
    return None if row is None else VersionView(**row)


def page(conn: Connection, asked: Asked, dag_id: str) -> ListPage[VersionView]:
    """Return a page of the versions of a DAG, the newest first."""
    listing = PagedList("versions of a DAG", (int,), "number", filters={"dag_id": dag_id})
    (before,) = listing.key(asked.cursor) or (None,)
    wanted = {
        "dag_id": dag_id,
        "number": None,
        "before": before,
        "bundles": paging.as_list(asked.bundles),
        "limit": asked.limit + 1,
    }
    rows = [VersionView(**row) for row in conn.execute(VERSIONS, wanted).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.number,))


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
