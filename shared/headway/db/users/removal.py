"""SQL that removes a DAG with its history, or a bundle."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

FORGET_BUNDLE = text("""
    WITH files AS (
        DELETE FROM dag_file WHERE bundle = :name
    ), errors AS (
        DELETE FROM import_error WHERE bundle = :name
    ), commits AS (
        DELETE FROM dag_bundle WHERE name = :name
    )
    UPDATE dag SET active = false WHERE bundle = :name AND active
 RETURNING dag_id
""")


def forget_bundle(conn: Connection, name: str) -> list[str]:
    """Forget a bundle's files and deactivate its DAGs; return the ids of those."""
    return list(conn.scalars(FORGET_BUNDLE, {"name": name}))


UNFINISHED = text("""
    SELECT run_id FROM dag_run
     WHERE dag_id = :dag_id AND state IN ('queued', 'running')
     ORDER BY id
     LIMIT 3
""")


LOCK_BACKFILLS = text("""
    SELECT id FROM backfill WHERE dag_id = :dag_id ORDER BY id FOR NO KEY UPDATE
""")


LOCK_RUNS = text("""
    SELECT id FROM dag_run
     WHERE dag_id = :dag_id AND state IN ('success', 'failed')
     ORDER BY id
     LIMIT :limit
       FOR NO KEY UPDATE
""")


SIZES = text("""
    SELECT dag_run_id, count(*) AS instances
      FROM task_instance
     WHERE dag_run_id = ANY (:runs)
     GROUP BY dag_run_id
""")


DELETE_LEASES = text("""
    DELETE FROM lease
     USING task_instance AS task
     WHERE lease.task_instance_id = task.id AND task.dag_run_id = ANY (:runs)
""")


DELETE_WAKES = text("DELETE FROM wake WHERE dag_run_id = ANY (:runs)")


DELETE_RUNS = text("""
    WITH gone AS (
        DELETE FROM dag_run WHERE id = ANY (:runs) RETURNING backfill_id
    )
    UPDATE backfill SET planned = planned - its.runs
      FROM (SELECT backfill_id, count(*) AS runs FROM gone GROUP BY backfill_id) AS its
     WHERE backfill.id = its.backfill_id
""")


DELETE_VERSIONS = text("""
    DELETE FROM dag_version
     WHERE id = ANY (ARRAY(
           SELECT id FROM dag_version
            WHERE dag_id = :dag_id
              AND id IS DISTINCT FROM (SELECT version_id FROM dag WHERE dag_id = :dag_id)
              AND NOT EXISTS (SELECT FROM dag_run WHERE version_id = dag_version.id)
            ORDER BY id
            LIMIT :limit))
""")


DELETE_DAG = text("DELETE FROM dag WHERE dag_id = :dag_id")


def unfinished(conn: Connection, dag_id: str) -> list[str]:
    """Return the first few of the DAG's runs that have not ended."""
    return list(conn.scalars(UNFINISHED, {"dag_id": dag_id}))


def delete_runs(conn: Connection, dag_id: str, instances: int, limit: int) -> int:
    """Delete the DAG's oldest runs that have ended; return how many.

    Up to `limit`, and as many as have so many task instances together, but one at least.
    """
    conn.execute(LOCK_BACKFILLS, {"dag_id": dag_id})
    runs = list(conn.scalars(LOCK_RUNS, {"dag_id": dag_id, "limit": limit}))
    sizes = {row.dag_run_id: row.instances for row in conn.execute(SIZES, {"runs": runs})}
    chosen = _within([(run, sizes.get(run, 0)) for run in runs], instances)
    if chosen:
        for statement in (DELETE_LEASES, DELETE_WAKES, DELETE_RUNS):
            conn.execute(statement, {"runs": chosen})
    return len(chosen)


def delete_versions(conn: Connection, dag_id: str, limit: int) -> int:
    """Delete versions of a locked DAG that are not in force and have no runs; return how many."""
    return conn.execute(DELETE_VERSIONS, {"dag_id": dag_id, "limit": limit}).rowcount


def delete_dag(conn: Connection, dag_id: str) -> None:
    """Delete a locked DAG that has no runs any more."""
    conn.execute(DELETE_DAG, {"dag_id": dag_id})


def _within(runs: Sequence[tuple[int, int]], most: int) -> list[int]:
    chosen: list[int] = []
    for run, size in runs:
        if chosen and size > most:
            break
        most -= size
        chosen.append(run)
    return chosen
