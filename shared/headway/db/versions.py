"""SQL on DAG versions: what a DAG was, for ever."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from headway.db import contents as stored
from headway.decide.graph import DagGraph, starts
from headway.domain.spec import DagSpec, TaskSpec
from headway.domain.weights import priorities
from headway.serialization.definitions import define

CURRENT = text("""
    SELECT version.fingerprint
      FROM dag
      JOIN dag_version AS version ON version.id = dag.version_id
     WHERE dag.dag_id = :dag_id
""")

# The newest, should an older release have stored one twice.
FIND = text("""
    SELECT id FROM dag_version
     WHERE dag_id = :dag_id AND fingerprint = :fingerprint
     ORDER BY number DESC
     LIMIT 1
""")

ADD = text("""
    INSERT INTO dag_version (dag_id, number, fingerprint, serialized, manifest_hash,
                             max_active_tasks_per_dagrun, dagrun_timeout, look_at_start,
                             reparse_on_run, commit)
    SELECT :dag_id, 1 + coalesce(max(number), 0), :fingerprint, :serialized, :manifest_hash,
           :max_active_tasks_per_dagrun, :dagrun_timeout, :look_at_start, :reparse_on_run,
           :commit
      FROM dag_version
     WHERE dag_id = :dag_id
 RETURNING id
""")

ADD_TASKS = text("""
    INSERT INTO dag_task (version_id, task_id, position, operator, trigger_rule,
                          pool, pool_slots, queue, priority, upstreams, starts, mapped,
                          max_active_tis_per_dag, max_active_tis_per_dagrun, on_lost,
                          definition_hash)
    SELECT :version_id, task.*
      FROM unnest(CAST(:task_ids AS text[]), CAST(:positions AS int[]),
                  CAST(:operators AS text[]), CAST(:trigger_rules AS text[]),
                  CAST(:pools AS text[]), CAST(:pool_slots AS int[]),
                  CAST(:queues AS text[]), CAST(:priorities AS int[]),
                  CAST(:upstreams AS int[]), CAST(:starts AS bool[]), CAST(:mapped AS bool[]),
                  CAST(:tis_per_dag AS int[]), CAST(:tis_per_dagrun AS int[]),
                  CAST(:on_lost AS text[]), CAST(:definitions AS text[])) AS task
""")

ADD_EDGES = text("""
    INSERT INTO dag_edge (version_id, upstream, downstream)
    SELECT :version_id, edge.*
      FROM unnest(CAST(:upstreams AS text[]), CAST(:downstreams AS text[])) AS edge
""")

LOAD = text("SELECT id, serialized FROM dag_version WHERE id = ANY (:ids)")


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A DAG as a parser read it, ready to be stored, with the commit that it was read at."""

    spec: DagSpec
    serialized: bytes
    fingerprint: str
    manifest_hash: str
    commit: str | None = None


def current_fingerprint(conn: Connection, dag_id: str) -> str | None:
    """Return the fingerprint of the version in force; None when the DAG has none."""
    fingerprint: str | None = conn.scalar(CURRENT, {"dag_id": dag_id})
    return fingerprint


def find(conn: Connection, dag_id: str, fingerprint: str) -> int | None:
    """Return the version of the DAG that has this fingerprint; None when it never had it.

    Lock the DAG first, as storing it does: then the version cannot be pruned meanwhile.
    """
    version_id: int | None = conn.scalar(FIND, {"dag_id": dag_id, "fingerprint": fingerprint})
    return version_id


def add(conn: Connection, version: NewVersion) -> int:
    """Store a version with its structure as rows; its code must be stored already."""
    spec = version.spec
    definitions = define(spec.tasks)
    stored.add_definitions(conn, dict(definitions))
    version_id: int = conn.execute(
        ADD,
        {
            "dag_id": spec.dag_id,
            "fingerprint": version.fingerprint,
            "serialized": version.serialized,
            "manifest_hash": version.manifest_hash,
            "max_active_tasks_per_dagrun": spec.max_active_tasks_per_dagrun,
            "dagrun_timeout": spec.dagrun_timeout,
            "look_at_start": DagGraph(spec).look_at_start(),
            "reparse_on_run": spec.reparse_on_run,
            "commit": version.commit,
        },
    ).scalar_one()
    columns = _columns(spec.tasks, [key for key, _ in definitions])
    conn.execute(ADD_TASKS, {"version_id": version_id, **columns})
    edges = [(upstream, task.task_id) for task in spec.tasks for upstream in task.upstream]
    conn.execute(
        ADD_EDGES,
        {
            "version_id": version_id,
            "upstreams": [upstream for upstream, _ in edges],
            "downstreams": [downstream for _, downstream in edges],
        },
    )
    return version_id


def _columns(tasks: Sequence[TaskSpec], definitions: Sequence[str]) -> dict[str, Sequence[object]]:
    weights = priorities(tasks)
    return {
        "task_ids": [task.task_id for task in tasks],
        "positions": list(range(len(tasks))),
        "operators": [task.operator for task in tasks],
        "trigger_rules": [str(task.trigger_rule) for task in tasks],
        "pools": [task.pool for task in tasks],
        "pool_slots": [task.pool_slots for task in tasks],
        "queues": [task.queue for task in tasks],
        "priorities": [weights[task.task_id] for task in tasks],
        "upstreams": [len(task.upstream) for task in tasks],
        "starts": [starts(task) for task in tasks],
        "mapped": [bool(task.mapped_over) for task in tasks],
        "tis_per_dag": [task.max_active_tis_per_dag for task in tasks],
        "tis_per_dagrun": [task.max_active_tis_per_dagrun for task in tasks],
        "on_lost": [str(task.on_lost) for task in tasks],
        "definitions": definitions,
    }


def add_code(
    conn: Connection, manifest_hash: str, files: Mapping[str, str], contents: Mapping[str, bytes]
) -> None:
    """Store source files, by content hash, and the manifest (path to hash) that names them."""
    stored.add_files(conn, contents)
    stored.add_manifest(conn, manifest_hash, files)


def load(conn: Connection, ids: Sequence[int]) -> dict[int, bytes]:
    """Return the serialized DAGs of these versions, by version id."""
    return {row.id: bytes(row.serialized) for row in conn.execute(LOAD, {"ids": list(ids)})}


def manifest(conn: Connection, manifest_hash: str) -> dict[str, str]:
    """Return the files of a manifest: relative path to content hash."""
    return stored.manifest(conn, manifest_hash)


def contents(conn: Connection, hashes: Sequence[str]) -> dict[str, bytes]:
    """Return source files by their content hash."""
    return stored.contents(conn, hashes)
