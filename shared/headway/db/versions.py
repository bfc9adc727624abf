"""SQL on DAG versions: what a DAG was, for ever."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps

from sqlalchemy import Connection, text

from headway.decide.graph import DagGraph, starts
from headway.domain.spec import DagSpec, TaskSpec
from headway.domain.weights import priorities

CURRENT = text("""
    SELECT version.fingerprint
      FROM dag
      JOIN dag_version AS version ON version.id = dag.version_id
     WHERE dag.dag_id = :dag_id
""")

ADD = text("""
    INSERT INTO dag_version (dag_id, number, fingerprint, serialized, manifest_hash,
                             max_active_tasks_per_dagrun, dagrun_timeout, look_at_start,
                             reparse_on_run)
    SELECT :dag_id, 1 + coalesce(max(number), 0), :fingerprint, :serialized, :manifest_hash,
           :max_active_tasks_per_dagrun, :dagrun_timeout, :look_at_start, :reparse_on_run
      FROM dag_version
     WHERE dag_id = :dag_id
 RETURNING id
""")

ADD_TASKS = text("""
    INSERT INTO dag_task (version_id, task_id, position, operator, trigger_rule,
                          pool, pool_slots, queue, priority, upstreams, starts, mapped,
                          max_active_tis_per_dag, max_active_tis_per_dagrun, on_lost)
    SELECT :version_id, task.*
      FROM unnest(CAST(:task_ids AS text[]), CAST(:positions AS int[]),
                  CAST(:operators AS text[]), CAST(:trigger_rules AS text[]),
                  CAST(:pools AS text[]), CAST(:pool_slots AS int[]),
                  CAST(:queues AS text[]), CAST(:priorities AS int[]),
                  CAST(:upstreams AS int[]), CAST(:starts AS bool[]), CAST(:mapped AS bool[]),
                  CAST(:tis_per_dag AS int[]), CAST(:tis_per_dagrun AS int[]),
                  CAST(:on_lost AS text[])) AS task
""")

ADD_EDGES = text("""
    INSERT INTO dag_edge (version_id, upstream, downstream)
    SELECT :version_id, edge.*
      FROM unnest(CAST(:upstreams AS text[]), CAST(:downstreams AS text[])) AS edge
""")

ADD_FILES = text("""
    INSERT INTO code_file (hash, content)
    SELECT file.*
      FROM unnest(CAST(:hashes AS text[]), CAST(:contents AS bytea[])) AS file
     ORDER BY 1
        ON CONFLICT DO NOTHING
""")

ADD_MANIFEST = text("""
    INSERT INTO code_manifest (hash, files) VALUES (:hash, CAST(:files AS json))
        ON CONFLICT DO NOTHING
""")

LOAD = text("SELECT id, serialized FROM dag_version WHERE id = ANY (:ids)")

MANIFEST = text("SELECT files FROM code_manifest WHERE hash = :hash")

CONTENTS = text("SELECT hash, content FROM code_file WHERE hash = ANY (:hashes)")


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A DAG as a parser read it, ready to be stored."""

    spec: DagSpec
    serialized: bytes
    fingerprint: str
    manifest_hash: str


def current_fingerprint(conn: Connection, dag_id: str) -> str | None:
    """Return the fingerprint of the version in force; None when the DAG has none."""
    fingerprint: str | None = conn.scalar(CURRENT, {"dag_id": dag_id})
    return fingerprint


def add(conn: Connection, version: NewVersion) -> int:
    """Store a version with its structure as rows; its code must be stored already."""
    spec = version.spec
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
        },
    ).scalar_one()
    conn.execute(ADD_TASKS, {"version_id": version_id, **_columns(spec.tasks)})
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


def _columns(tasks: Sequence[TaskSpec]) -> dict[str, list[object]]:
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
    }


def add_code(
    conn: Connection, manifest_hash: str, files: Mapping[str, str], contents: Mapping[str, bytes]
) -> None:
    """Store source files, by content hash, and the manifest (path to hash) that names them."""
    conn.execute(
        ADD_FILES, {"hashes": list(contents), "contents": [contents[key] for key in contents]}
    )
    conn.execute(ADD_MANIFEST, {"hash": manifest_hash, "files": dumps(files)})


def load(conn: Connection, ids: Sequence[int]) -> dict[int, bytes]:
    """Return the serialized DAGs of these versions, by version id."""
    return {row.id: bytes(row.serialized) for row in conn.execute(LOAD, {"ids": list(ids)})}


def manifest(conn: Connection, manifest_hash: str) -> dict[str, str]:
    """Return the files of a manifest: relative path to content hash."""
    files: dict[str, str] = conn.execute(MANIFEST, {"hash": manifest_hash}).scalar_one()
    return files


def contents(conn: Connection, hashes: Sequence[str]) -> dict[str, bytes]:
    """Return source files by their content hash."""
    rows = conn.execute(CONTENTS, {"hashes": list(hashes)})
    return {row.hash: bytes(row.content) for row in rows}
