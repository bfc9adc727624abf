"""SQL by which a parser enters DAGs: what their file says of them, and whose they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json import dumps

from sqlalchemy import Connection, text

from headway.domain.spec import DagSpec

# The parser writes what the file says; the next run and the pause are not its business.
# Whose DAG it is is judged on the row itself: another file may have entered it just now.
ENTER = text("""
    WITH entered AS (
        INSERT INTO dag (dag_id, bundle, relative_path, description, tags, active, paused,
                         max_active_runs, max_active_tasks)
        SELECT dag_id, :bundle, :relative_path, description,
               ARRAY(SELECT json_array_elements_text(CAST(tags AS json))), true, paused,
               max_active_runs, max_active_tasks
          FROM unnest(CAST(:dag_ids AS text[]), CAST(:descriptions AS text[]),
                      CAST(:tags AS text[]), CAST(:paused AS bool[]),
                      CAST(:max_active_runs AS int[]), CAST(:max_active_tasks AS int[]))
               AS it (dag_id, description, tags, paused, max_active_runs, max_active_tasks)
         ORDER BY dag_id
            ON CONFLICT (dag_id) DO UPDATE
           SET bundle = excluded.bundle, relative_path = excluded.relative_path,
               description = excluded.description, tags = excluded.tags, active = true,
               max_active_runs = excluded.max_active_runs,
               max_active_tasks = excluded.max_active_tasks
         WHERE NOT dag.active
            OR (dag.bundle, dag.relative_path) = (excluded.bundle, excluded.relative_path)
     RETURNING dag_id, version_id
    )
    SELECT entered.dag_id, version.id, version.fingerprint, version.manifest_hash
      FROM entered
      LEFT JOIN dag_version AS version ON version.id = entered.version_id
""")

OWNERS = text("SELECT dag_id, bundle, relative_path FROM dag WHERE dag_id = ANY (:dag_ids)")

PUT_IN_FORCE = text("UPDATE dag SET version_id = :version_id WHERE dag_id = :dag_id")

DEACTIVATE = text("""
    UPDATE dag SET active = false
     WHERE bundle = :bundle AND relative_path = :relative_path AND active
       AND NOT dag_id = ANY (CAST(:present AS text[]))
 RETURNING dag_id
""")


RECENT = text("""
    SELECT dag_id, manifest_hash, count(*) AS versions
      FROM dag_version
     WHERE dag_id = ANY (:dag_ids) AND created_at > now() - interval '1 hour'
     GROUP BY dag_id, manifest_hash
""")


@dataclass(frozen=True, slots=True)
class InForce:
    """The version of a DAG that is in force; all None when the DAG is new."""

    version_id: int | None
    fingerprint: str | None
    manifest_hash: str | None


def enter(
    conn: Connection, bundle: str, relative_path: str, specs: Sequence[DagSpec], *, paused: bool
) -> dict[str, InForce]:
    """Enter the DAGs of a file, or refresh what it says of them; return what is in force.

    A DAG is left out that is active in another file, which keeps it.  `paused` counts for
    a new one alone, and only if its file says nothing of it.
    """
    rows = conn.execute(
        ENTER,
        {
            "bundle": bundle,
            "relative_path": relative_path,
            "dag_ids": [spec.dag_id for spec in specs],
            "descriptions": [spec.description for spec in specs],
            "tags": [dumps(list(spec.tags)) for spec in specs],
            "paused": [_paused(spec, paused) for spec in specs],
            "max_active_runs": [spec.max_active_runs for spec in specs],
            "max_active_tasks": [spec.max_active_tasks for spec in specs],
        },
    )
    return {row.dag_id: InForce(row.id, row.fingerprint, row.manifest_hash) for row in rows}


def owners(conn: Connection, dag_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the (bundle, path) of the file that each of these DAGs belongs to."""
    rows = conn.execute(OWNERS, {"dag_ids": list(dag_ids)})
    return {row.dag_id: (row.bundle, row.relative_path) for row in rows}


def put_in_force(conn: Connection, dag_id: str, version_id: int) -> None:
    """Let the runs to come be of this version."""
    conn.execute(PUT_IN_FORCE, {"dag_id": dag_id, "version_id": version_id})


def recent(conn: Connection, dag_ids: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return how many versions each state of the code, by DAG, has made within the hour."""
    rows = conn.execute(RECENT, {"dag_ids": list(dag_ids)})
    return {(row.dag_id, row.manifest_hash): row.versions for row in rows}


def deactivate_missing(
    conn: Connection, bundle: str, relative_path: str, present: Iterable[str]
) -> list[str]:
    """Deactivate the file's DAGs that it no longer defines; return their ids."""
    rows = conn.scalars(
        DEACTIVATE, {"bundle": bundle, "relative_path": relative_path, "present": list(present)}
    )
    return list(rows)


def _paused(spec: DagSpec, otherwise: bool) -> bool:
    own = spec.is_paused_upon_creation
    return otherwise if own is None else own
