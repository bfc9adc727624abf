"""SQL on retention: what was once and that nothing refers to any more goes, a batch at a time.

What may go is locked by one statement, and judged again by the next, which sees whatever was
committed before the lock was granted.  Nobody is waited for: what another transaction holds,
as a parser holds what it stores, is in use.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, TextClause, text

# A parser of a release before migration 0010 does not note what has left: then it was in force
# until the next one was there.
CANDIDATES = text("""
    SELECT version.id, version.dag_id
      FROM (SELECT id, dag_id, row_number() OVER newest_first AS place,
                   coalesce(superseded_at, lag(created_at) OVER newest_first) AS superseded_at
              FROM dag_version
            WINDOW newest_first AS (PARTITION BY dag_id ORDER BY number DESC)) AS version
     WHERE place > :keep AND superseded_at < now() - make_interval(secs => :seconds)
       AND NOT EXISTS (SELECT FROM dag
                        WHERE dag.dag_id = version.dag_id
                          AND version.id IN (dag.version_id, dag.planned_version_id))
       AND NOT EXISTS (SELECT FROM dag_run WHERE dag_run.version_id = version.id)
     ORDER BY version.dag_id, version.id
     LIMIT :limit
""")

# Whoever puts an earlier version in force again has locked its DAG before.
LOCK_DAGS = text("""
    SELECT dag_id FROM dag WHERE dag_id = ANY (:dag_ids) ORDER BY dag_id
       FOR NO KEY UPDATE SKIP LOCKED
""")

LOCK_VERSIONS = text("""
    SELECT id FROM dag_version
     WHERE id = ANY (:ids) AND dag_id = ANY (:dag_ids)
     ORDER BY id
       FOR UPDATE SKIP LOCKED
""")

PRUNE_VERSIONS = text("""
    DELETE FROM dag_version AS version
     WHERE id = ANY (:ids)
       AND NOT EXISTS (SELECT FROM dag
                        WHERE dag.dag_id = version.dag_id
                          AND version.id IN (dag.version_id, dag.planned_version_id))
       AND NOT EXISTS (SELECT FROM dag_run WHERE dag_run.version_id = version.id)
""")

LOCK_MANIFESTS = text("""
    SELECT hash FROM code_manifest AS it
     WHERE stored_at < now() - make_interval(secs => :seconds)
       AND NOT EXISTS (SELECT FROM dag_version WHERE manifest_hash = it.hash)
       AND NOT EXISTS (SELECT FROM dag_version WHERE bundle_hash = it.hash)
     LIMIT :limit
       FOR UPDATE SKIP LOCKED
""")

PRUNE_MANIFESTS = text("""
    DELETE FROM code_manifest AS it
     WHERE hash = ANY (:hashes)
       AND NOT EXISTS (SELECT FROM dag_version WHERE manifest_hash = it.hash)
       AND NOT EXISTS (SELECT FROM dag_version WHERE bundle_hash = it.hash)
""")

LOCK_FILES = text("""
    WITH used AS MATERIALIZED (
        SELECT DISTINCT named.value
          FROM code_manifest CROSS JOIN LATERAL json_each_text(files) AS named
    )
    SELECT hash FROM code_file
     WHERE stored_at < now() - make_interval(secs => :seconds)
       AND NOT EXISTS (SELECT FROM used WHERE used.value = code_file.hash)
     LIMIT :limit
       FOR UPDATE OF code_file SKIP LOCKED
""")

PRUNE_FILES = text("""
    WITH used AS MATERIALIZED (
        SELECT DISTINCT named.value
          FROM code_manifest CROSS JOIN LATERAL json_each_text(files) AS named
    )
    DELETE FROM code_file
     WHERE hash = ANY (:hashes)
       AND NOT EXISTS (SELECT FROM used WHERE used.value = code_file.hash)
""")

LOCK_DEFINITIONS = text("""
    SELECT hash FROM task_definition AS it
     WHERE stored_at < now() - make_interval(secs => :seconds)
       AND NOT EXISTS (SELECT FROM dag_task WHERE definition_hash = it.hash)
     LIMIT :limit
       FOR UPDATE SKIP LOCKED
""")

PRUNE_DEFINITIONS = text("""
    DELETE FROM task_definition AS it
     WHERE hash = ANY (:hashes)
       AND NOT EXISTS (SELECT FROM dag_task WHERE definition_hash = it.hash)
""")


def prune_versions(conn: Connection, seconds: float, keep: int, limit: int) -> int:
    """Delete up to `limit` versions that are of no use any more; return how many.

    Not one in force, or that a run refers to, or of the newest `keep` of its DAG, or that
    was in force within so many seconds.
    """
    found = conn.execute(CANDIDATES, {"seconds": seconds, "keep": keep, "limit": limit}).all()
    dag_ids = conn.scalars(LOCK_DAGS, {"dag_ids": sorted({row.dag_id for row in found})})
    parameters = {"ids": [row.id for row in found], "dag_ids": list(dag_ids)}
    return _prune(conn, PRUNE_VERSIONS, "ids", list(conn.scalars(LOCK_VERSIONS, parameters)))


def prune_manifests(conn: Connection, seconds: float, limit: int) -> int:
    """Delete manifests that no version has, and that nobody has stored for so many seconds."""
    return _prune_content(conn, LOCK_MANIFESTS, PRUNE_MANIFESTS, seconds, limit)


def prune_files(conn: Connection, seconds: float, limit: int) -> int:
    """Delete source files that no manifest names, and that nobody has stored for so long."""
    return _prune_content(conn, LOCK_FILES, PRUNE_FILES, seconds, limit)


def prune_definitions(conn: Connection, seconds: float, limit: int) -> int:
    """Delete task definitions that no version has, and that nobody has stored for so long."""
    return _prune_content(conn, LOCK_DEFINITIONS, PRUNE_DEFINITIONS, seconds, limit)


def _prune_content(
    conn: Connection, lock: TextClause, prune: TextClause, seconds: float, limit: int
) -> int:
    locked = list(conn.scalars(lock, {"seconds": seconds, "limit": limit}))
    return _prune(conn, prune, "hashes", locked)


def _prune(conn: Connection, prune: TextClause, name: str, keys: Sequence[object]) -> int:
    return conn.execute(prune, {name: list(keys)}).rowcount if keys else 0
