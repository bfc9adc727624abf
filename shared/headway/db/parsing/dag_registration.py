"""SQL by which a parser enters DAGs: what their files say of them, and whose they are."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import NamedTuple

from sqlalchemy import Connection, text

from headway.db.parsing.files import FileKey
from headway.db.parsing.versions import NewVersion
from headway.domain.dag.spec import DagSpec

IN_FORCE = text("""
    SELECT dag.dag_id, version.id, version.bundle, version.fingerprint, version.manifest_hash
      FROM dag
      JOIN dag_version AS version ON version.id = dag.version_id
     WHERE dag.dag_id = ANY (:dag_ids)
""")

# The parser writes what the file says; the next run and the pause are not its business.
# Whose DAG it is is judged on the row itself: another file may have entered it just now.
ENTER = text("""
    INSERT INTO dag (dag_id, bundle, relative_path, description, tags, active, paused,
                     max_active_runs, max_active_tasks)
    SELECT dag_id, bundle, relative_path, description,
           ARRAY(SELECT json_array_elements_text(CAST(tags AS json))), true, paused,
           max_active_runs, max_active_tasks
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:bundles AS text[]), CAST(:paths AS text[]),
                  CAST(:descriptions AS text[]), CAST(:tags AS text[]),
                  CAST(:paused AS bool[]), CAST(:max_active_runs AS int[]),
                  CAST(:max_active_tasks AS int[]))
           AS it (dag_id, bundle, relative_path, description, tags, paused, max_active_runs,
                  max_active_tasks)
     ORDER BY dag_id
        ON CONFLICT (dag_id) DO UPDATE
       SET bundle = excluded.bundle, relative_path = excluded.relative_path,
           description = excluded.description, tags = excluded.tags, active = true,
           scheduled_since = CASE WHEN dag.active THEN dag.scheduled_since ELSE now() END,
           max_active_runs = excluded.max_active_runs,
           max_active_tasks = excluded.max_active_tasks
     WHERE NOT dag.active
        OR (dag.bundle, dag.relative_path) = (excluded.bundle, excluded.relative_path)
 RETURNING dag_id
""")

OWNERS = text("SELECT dag_id, bundle, relative_path FROM dag WHERE dag_id = ANY (:dag_ids)")

LEAVE = text("""
    UPDATE dag_version AS version SET superseded_at = now()
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:version_ids AS bigint[]))
           AS it (dag_id, version_id)
      JOIN dag USING (dag_id)
     WHERE version.id = dag.version_id AND version.id <> it.version_id
""")

PUT_IN_FORCE = text("""
    UPDATE dag SET version_id = it.version_id
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:version_ids AS bigint[]))
           AS it (dag_id, version_id)
     WHERE dag.dag_id = it.dag_id
""")

# Each DAG is asked for in its own file: it may have gone to another one of these.
DEACTIVATE = text("""
    WITH gone AS MATERIALIZED (
        SELECT dag.dag_id
          FROM unnest(CAST(:bundles AS text[]), CAST(:paths AS text[]), CAST(:present AS json[]))
               AS it (bundle, relative_path, present)
          JOIN dag USING (bundle, relative_path)
         WHERE dag.active
           AND NOT dag.dag_id IN (SELECT json_array_elements_text(it.present))
         ORDER BY dag.dag_id
           FOR NO KEY UPDATE OF dag
    )
    UPDATE dag SET active = false FROM gone WHERE dag.dag_id = gone.dag_id
 RETURNING dag.dag_id
""")

PAST = text("""
    SELECT new.dag_id, count(*) AS versions,
           count(*) FILTER (WHERE created_at > now() - interval '1 hour') AS in_hour,
           count(*) FILTER (WHERE created_at > now() - interval '30 days') AS in_month,
           bool_or(version.fingerprint = new.fingerprint) AS had
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:manifest_hashes AS text[]),
                  CAST(:fingerprints AS text[]))
           AS new (dag_id, manifest_hash, fingerprint)
      JOIN dag_version AS version USING (dag_id, manifest_hash)
      JOIN dag ON (dag.dag_id, dag.bundle) = (version.dag_id, version.bundle)
     GROUP BY new.dag_id
""")

NEWEST = text("""
    SELECT new.dag_id, max(version.id) AS id
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:manifest_hashes AS text[]))
           AS new (dag_id, manifest_hash)
      JOIN dag_version AS version USING (dag_id, manifest_hash)
      JOIN dag ON (dag.dag_id, dag.bundle) = (version.dag_id, version.bundle)
     GROUP BY new.dag_id
""")


class DagEntry(NamedTuple):
    """A DAG as its file has it."""

    bundle: str
    relative_path: str
    spec: DagSpec


@dataclass(frozen=True, slots=True)
class InForce:
    """What tells the version of a DAG that is in force."""

    id: int
    bundle: str
    fingerprint: str
    manifest_hash: str


@dataclass(frozen=True, slots=True)
class Past:
    """The versions that one state of the code has made of a DAG: all, and those made lately.

    `had` says that the version in question is one of them.
    """

    versions: int = 0
    in_hour: int = 0
    in_month: int = 0
    had: bool = False


def in_force(conn: Connection, dag_ids: Iterable[str]) -> dict[str, InForce]:
    """Return what is in force of these DAGs; those are left out that have no version."""
    rows = conn.execute(IN_FORCE, {"dag_ids": list(dag_ids)})
    return {
        row.dag_id: InForce(row.id, row.bundle, row.fingerprint, row.manifest_hash) for row in rows
    }


def enter(conn: Connection, found: Sequence[DagEntry], *, paused: bool) -> set[str]:
    """Enter DAGs, each once, or refresh what their files say of them; return their ids.

    A DAG is left out that is active in another file, which keeps it.  `paused` counts for
    a new one alone, and only if its file says nothing of it.  All are locked.
    """
    specs = [dag.spec for dag in found]
    rows = conn.scalars(
        ENTER,
        {
            "dag_ids": [spec.dag_id for spec in specs],
            "bundles": [dag.bundle for dag in found],
            "paths": [dag.relative_path for dag in found],
            "descriptions": [spec.description for spec in specs],
            "tags": [dumps(list(spec.tags)) for spec in specs],
            "paused": [_paused(spec, paused) for spec in specs],
            "max_active_runs": [spec.max_active_runs for spec in specs],
            "max_active_tasks": [spec.max_active_tasks for spec in specs],
        },
    )
    return set(rows)


def owners(conn: Connection, dag_ids: Iterable[str]) -> dict[str, FileKey]:
    """Return the file that each of these DAGs belongs to."""
    rows = conn.execute(OWNERS, {"dag_ids": list(dag_ids)})
    return {row.dag_id: FileKey(row.bundle, row.relative_path) for row in rows}


def put_in_force(conn: Connection, versions: Mapping[str, int]) -> None:
    """Let the runs to come be of these versions, by DAG id, whose DAGs are locked."""
    parameters = {"dag_ids": list(versions), "version_ids": list(versions.values())}
    conn.execute(LEAVE, parameters)
    conn.execute(PUT_IN_FORCE, parameters)


def past(conn: Connection, found: Sequence[NewVersion]) -> dict[str, Past]:
    """Return what the very code of these has made of their DAGs before, in their bundles."""
    rows = conn.execute(
        PAST,
        {
            "dag_ids": [version.spec.dag_id for version in found],
            "manifest_hashes": [version.manifest_hash for version in found],
            "fingerprints": [version.fingerprint for version in found],
        },
    )
    return {row.dag_id: Past(row.versions, row.in_hour, row.in_month, row.had) for row in rows}


def newest(conn: Connection, found: Iterable[NewVersion]) -> dict[str, int]:
    """Return the newest version that their very code has made of DAGs in their bundles, if any."""
    manifests = {version.spec.dag_id: version.manifest_hash for version in found}
    parameters = {"dag_ids": list(manifests), "manifest_hashes": list(manifests.values())}
    return {row.dag_id: row.id for row in conn.execute(NEWEST, parameters)}


def deactivate_missing(conn: Connection, present: Mapping[FileKey, Collection[str]]) -> list[str]:
    """Deactivate the DAGs of these files but those present in each; return the ids."""
    parameters = {
        "bundles": [key.bundle for key in present],
        "paths": [key.path for key in present],
        "present": [dumps(list(dag_ids)) for dag_ids in present.values()],
    }
    return list(conn.scalars(DEACTIVATE, parameters))


def _paused(spec: DagSpec, otherwise: bool) -> bool:
    own = spec.is_paused_upon_creation
    return otherwise if own is None else own
