"""SQL that stores DAG versions: what a DAG was, for ever."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Connection, text

from headway.db.parsing import deadlines, notifiers
from headway.db.parsing import stored_code as stored
from headway.decide.scheduling.graph import DagGraph, starts
from headway.domain.dag.spec import DagSpec, TaskSpec
from headway.domain.dag.weights import priorities
from headway.serialization.definitions import define

# The newest, should an older release have stored one twice.
FIND = text("""
    SELECT version.dag_id, max(version.id) AS id
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:fingerprints AS text[]))
           AS wanted (dag_id, fingerprint)
      JOIN dag_version AS version USING (dag_id, fingerprint)
      JOIN dag ON (dag.dag_id, dag.bundle) = (version.dag_id, version.bundle)
     GROUP BY version.dag_id
""")


ADD = text("""
    INSERT INTO dag_version (dag_id, number, bundle, fingerprint, serialized, manifest_hash,
                             max_active_tasks_per_dagrun, dagrun_timeout, settle_at_start,
                             reparse_on_run, commit, bundle_hash, bundle_complete)
    SELECT new.dag_id,
           1 + coalesce((SELECT max(number) FROM dag_version AS old
                          WHERE old.dag_id = new.dag_id), 0),
           (SELECT bundle FROM dag WHERE dag.dag_id = new.dag_id), new.fingerprint,
           new.serialized, new.manifest_hash, new.max_active_tasks_per_dagrun,
           new.dagrun_timeout, new.settle_at_start, new.reparse_on_run, new.commit,
           new.bundle_hash, new.bundle_complete
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:fingerprints AS text[]),
                  CAST(:serialized AS bytea[]), CAST(:manifest_hashes AS text[]),
                  CAST(:most_active AS int[]), CAST(:timeouts AS float8[]),
                  CAST(:settle_at_start AS bool[]), CAST(:reparse_on_run AS bool[]),
                  CAST(:commits AS text[]), CAST(:bundle_hashes AS text[]),
                  CAST(:bundles_complete AS bool[]))
           AS new (dag_id, fingerprint, serialized, manifest_hash, max_active_tasks_per_dagrun,
                   dagrun_timeout, settle_at_start, reparse_on_run, commit, bundle_hash,
                   bundle_complete)
     ORDER BY new.dag_id
 RETURNING dag_id, id
""")


ADD_TASKS = text("""
    INSERT INTO dag_task (version_id, task_id, position, operator, trigger_rule,
                          pool, pool_slots, queue, priority, upstreams, starts, mapped,
                          max_active_tis_per_dag, max_active_tis_per_dagrun, on_lost,
                          callbacks, notifies, definition_hash)
    SELECT task.*
      FROM unnest(CAST(:version_ids AS bigint[]), CAST(:task_ids AS text[]),
                  CAST(:positions AS int[]),
                  CAST(:operators AS text[]), CAST(:trigger_rules AS text[]),
                  CAST(:pools AS text[]), CAST(:pool_slots AS int[]),
                  CAST(:queues AS text[]), CAST(:priorities AS int[]),
                  CAST(:upstreams AS int[]), CAST(:starts AS bool[]), CAST(:mapped AS bool[]),
                  CAST(:tis_per_dag AS int[]), CAST(:tis_per_dagrun AS int[]),
                  CAST(:on_lost AS text[]), CAST(:callbacks AS text[]),
                  CAST(:notifies AS text[]), CAST(:definitions AS text[])) AS task
""")


ADD_EDGES = text("""
    INSERT INTO dag_edge (version_id, upstream, downstream)
    SELECT edge.*
      FROM unnest(CAST(:version_ids AS bigint[]), CAST(:upstreams AS text[]),
                  CAST(:downstreams AS text[])) AS edge
""")


INCOMPLETE = text("""
    SELECT id FROM dag_version WHERE id = ANY (:ids) AND NOT bundle_complete
""")


# What there is, is not replaced by what is incomplete as well: it may be less.
COMPLETE = text("""
    UPDATE dag_version AS version
       SET bundle_hash = it.bundle_hash, bundle_complete = it.complete
      FROM unnest(CAST(:ids AS bigint[]), CAST(:bundle_hashes AS text[]),
                  CAST(:complete AS bool[])) AS it (id, bundle_hash, complete)
     WHERE version.id = it.id AND NOT version.bundle_complete
       AND (it.complete OR version.bundle_hash IS NULL)
""")


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A DAG as a parser read it, ready to be stored, with the commit that it was read at.

    `bundle_hash` is the manifest of what its tasks may read of the bundle besides its own files,
    and `bundle_complete` says that nothing is missing from it.
    """

    spec: DagSpec
    serialized: bytes
    fingerprint: str
    manifest_hash: str
    commit: str | None = None
    bundle_hash: str | None = None
    bundle_complete: bool = False


def find(conn: Connection, wanted: Mapping[str, str]) -> dict[str, int]:
    """Return the versions of these DAGs, by DAG id, that have these fingerprints.

    They are of the bundle in which the DAG is: what another bundle had is another version.
    Lock the DAGs first, as storing them does: then no version can be pruned meanwhile.
    """
    parameters = {"dag_ids": list(wanted), "fingerprints": list(wanted.values())}
    return {row.dag_id: row.id for row in conn.execute(FIND, parameters)}


def add(conn: Connection, new: Sequence[NewVersion]) -> dict[str, int]:
    """Store a version of each of several DAGs, with its structure as rows; return their ids.

    Their code must be stored already.  The versions are of the bundles in which the DAGs are.
    """
    definitions = {version.spec.dag_id: define(version.spec.tasks) for version in new}
    stored.add_definitions(conn, dict(chain.from_iterable(definitions.values())))
    ids = {row.dag_id: row.id for row in conn.execute(ADD, _versions(new))}
    tasks = [(ids[version.spec.dag_id], version.spec.tasks) for version in new]
    hashes = [key for version in new for key, _ in definitions[version.spec.dag_id]]
    conn.execute(ADD_TASKS, {**_columns(tasks), "definitions": hashes})
    edges = [
        (version_id, upstream, task.task_id)
        for version_id, of_version in tasks
        for task in of_version
        for upstream in task.upstream
    ]
    conn.execute(
        ADD_EDGES,
        {
            "version_ids": [version_id for version_id, _, _ in edges],
            "upstreams": [upstream for _, upstream, _ in edges],
            "downstreams": [downstream for _, _, downstream in edges],
        },
    )
    added = [(ids[version.spec.dag_id], version.spec) for version in new]
    deadlines.add_of_versions(conn, added)
    notifiers.add_of_versions(conn, added)
    return ids


def _versions(new: Sequence[NewVersion]) -> dict[str, Sequence[object]]:
    specs = [version.spec for version in new]
    return {
        "dag_ids": [spec.dag_id for spec in specs],
        "fingerprints": [version.fingerprint for version in new],
        "serialized": [version.serialized for version in new],
        "manifest_hashes": [version.manifest_hash for version in new],
        "most_active": [spec.max_active_tasks_per_dagrun for spec in specs],
        "timeouts": [spec.dagrun_timeout for spec in specs],
        "settle_at_start": [DagGraph(spec).settle_at_start() for spec in specs],
        "reparse_on_run": [spec.reparse_on_run for spec in specs],
        "commits": [version.commit for version in new],
        "bundle_hashes": [version.bundle_hash for version in new],
        "bundles_complete": [version.bundle_complete for version in new],
    }


def _columns(of_versions: Sequence[tuple[int, Sequence[TaskSpec]]]) -> dict[str, Sequence[object]]:
    tasks = [task for _, of_version in of_versions for task in of_version]
    weights = [priorities(of_version) for _, of_version in of_versions]
    return {
        "version_ids": [key for key, of_version in of_versions for _ in of_version],
        "task_ids": [task.task_id for task in tasks],
        "positions": [place for _, of_version in of_versions for place in range(len(of_version))],
        "operators": [task.operator for task in tasks],
        "trigger_rules": [str(task.trigger_rule) for task in tasks],
        "pools": [task.pool for task in tasks],
        "pool_slots": [task.pool_slots for task in tasks],
        "queues": [task.queue for task in tasks],
        "priorities": [
            weight[task.task_id]
            for weight, (_, of_version) in zip(weights, of_versions, strict=True)
            for task in of_version
        ],
        "upstreams": [len(task.upstream) for task in tasks],
        "starts": [starts(task) for task in tasks],
        "mapped": [bool(task.mapped_over) for task in tasks],
        "tis_per_dag": [task.max_active_tis_per_dag for task in tasks],
        "tis_per_dagrun": [task.max_active_tis_per_dagrun for task in tasks],
        "on_lost": [str(task.on_lost) for task in tasks],
        "callbacks": [",".join(task.callbacks) for task in tasks],
        "notifies": [",".join(task.notifies) for task in tasks],
    }


def incomplete(conn: Connection, ids: Collection[int]) -> set[int]:
    """Return those of these versions that lack files of their bundle."""
    return set(conn.scalars(INCOMPLETE, {"ids": list(ids)}))


def complete(conn: Connection, bundles: Mapping[int, tuple[str, bool]]) -> None:
    """Give versions the manifest of their bundle's files, and whether these are all.

    Their DAGs are locked.  A version that has all files keeps them.
    """
    ids = sorted(bundles)
    parameters = {
        "ids": ids,
        "bundle_hashes": [bundles[version_id][0] for version_id in ids],
        "complete": [bundles[version_id][1] for version_id in ids],
    }
    conn.execute(COMPLETE, parameters)
