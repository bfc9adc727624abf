"""SQL on what an archive keeps of rows that are to be removed: all columns but tokens and proofs.

A column of JSON comes as its text, under its name with `_json`.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, TextClause, text

from headway.domain.retention import RetainedKind

RUNS = text("""
    SELECT *, CAST(conf AS text) AS conf_json FROM dag_run WHERE id = ANY (:ids) ORDER BY id
""")

TASK_INSTANCES = text("""
    SELECT * FROM task_instance WHERE dag_run_id = ANY (:ids) ORDER BY id
""")

ATTEMPTS = text("""
    SELECT it.task_instance_id, it.attempt, it.phase, it.dag_id, it.pool, it.pool_slots, it.queue,
           it.rank, it.scheduler_id, it.process_id, it.queued_at, it.claimed_until, it.started_at,
           it.ended_at, it.outcome, it.error, CAST(it.handle AS text) AS handle_json, it.stop_to,
           it.version_id
      FROM task_instance AS task
      JOIN task_attempt AS it ON it.task_instance_id = task.id
     WHERE task.dag_run_id = ANY (:ids)
     ORDER BY it.task_instance_id, it.attempt
""")

SPARK_WORK = text("""
    SELECT it.*, CAST(it.progress AS text) AS progress_json,
           CAST(it.figures AS text) AS figures_json
      FROM task_instance AS task
      JOIN spark_work AS it ON it.task_instance_id = task.id
     WHERE task.dag_run_id = ANY (:ids)
     ORDER BY it.task_instance_id, it.attempt
""")

RUN_REQUESTS = text("""
    SELECT it.*, CAST(it.conf AS text) AS conf_json
      FROM task_instance AS task
      JOIN run_request AS it ON it.task_instance_id = task.id
     WHERE task.dag_run_id = ANY (:ids)
     ORDER BY it.id
""")

XCOMS = text("""
    SELECT it.*, CAST(it.value AS text) AS value_json
      FROM task_instance AS task
      JOIN xcom AS it ON it.task_instance_id = task.id
     WHERE task.dag_run_id = ANY (:ids)
     ORDER BY it.task_instance_id, it.attempt, it.key
""")

STATE_STORE = text("""
    SELECT *, CAST(value AS text) AS value_json
      FROM task_state_store
     WHERE dag_run_id = ANY (:ids)
     ORDER BY dag_run_id, task_id, map_index, key
""")

DEADLINES = text("SELECT * FROM deadline WHERE dag_run_id = ANY (:ids) ORDER BY id")

NOTIFICATIONS = text("""
    SELECT id, CAST(key AS text) AS key, dag_run_id, notifier, event, collecting, state, tries,
           due_at, process_id, claimed_until, created_at, started_at, ended_at, error
      FROM notification
     WHERE dag_run_id = ANY (:ids)
     ORDER BY id
""")

NOTIFIED = text("SELECT * FROM notified_event WHERE dag_run_id = ANY (:ids) ORDER BY id")

SKIPPED = text("""
    SELECT * FROM skipped_interval WHERE dag_run_id = ANY (:ids) ORDER BY dag_id, interval_end
""")

CALLBACKS_OF_RUNS = text("""
    SELECT id, dag_run_id, task_id, map_index, attempt, event, reason, cause, queue, state, tries,
           process_id, version_id, claimed_until, created_at, started_at, ended_at, error
      FROM callback
     WHERE dag_run_id = ANY (:ids)
     ORDER BY id
""")

CALLBACKS = text("""
    SELECT id, dag_run_id, task_id, map_index, attempt, event, reason, cause, queue, state, tries,
           process_id, version_id, claimed_until, created_at, started_at, ended_at, error
      FROM callback
     WHERE id = ANY (:ids)
     ORDER BY id
""")

EVENTS = text("""
    SELECT *, CAST(details AS text) AS details_json FROM event WHERE id = ANY (:ids) ORDER BY id
""")

PROCESSES = text("""
    SELECT id, kind, hostname, pid, version, epoch, queues, slots, bundles, drain_requested_at,
           exclusive, started_at, ended_at
      FROM process
     WHERE id = ANY (:ids)
     ORDER BY id
""")

REMOVED = text("""
    SELECT details ->> 'portion' FROM event
     WHERE action = 'db.clean' AND details ->> 'portion' = ANY (:portions)
""")

# A row of another database may have the same id, but did not come at the same microsecond.
COUNT_RUNS = text("""
    SELECT count(*)
      FROM unnest(CAST(:ids AS bigint[]), CAST(:moments AS timestamptz[])) AS its (id, moment)
      JOIN dag_run AS here ON here.id = its.id AND here.created_at = its.moment
""")

COUNT_EVENTS = text("""
    SELECT count(*)
      FROM unnest(CAST(:ids AS bigint[]), CAST(:moments AS timestamptz[])) AS its (id, moment)
      JOIN event AS here ON here.id = its.id AND here.at = its.moment
""")

COUNT_CALLBACKS = text("""
    SELECT count(*)
      FROM unnest(CAST(:ids AS bigint[]), CAST(:moments AS timestamptz[])) AS its (id, moment)
      JOIN callback AS here ON here.id = its.id AND here.created_at = its.moment
""")

COUNT_PROCESSES = text("""
    SELECT count(*)
      FROM unnest(CAST(:ids AS bigint[]), CAST(:moments AS timestamptz[])) AS its (id, moment)
      JOIN process AS here ON here.id = its.id AND here.started_at = its.moment
""")

_CONTENTS: Final[Mapping[RetainedKind, Mapping[str, TextClause]]] = {
    RetainedKind.RUNS: {
        "task_instance": TASK_INSTANCES,
        "task_attempt": ATTEMPTS,
        "spark_work": SPARK_WORK,
        "run_request": RUN_REQUESTS,
        "xcom": XCOMS,
        "task_state_store": STATE_STORE,
        "callback": CALLBACKS_OF_RUNS,
        "deadline": DEADLINES,
        "notification": NOTIFICATIONS,
        "notified_event": NOTIFIED,
        "skipped_interval": SKIPPED,
        "dag_run": RUNS,
    },
    RetainedKind.EVENTS: {"event": EVENTS},
    RetainedKind.CALLBACKS: {"callback": CALLBACKS},
    RetainedKind.PROCESSES: {"process": PROCESSES},
}

_COUNTS: Final[Mapping[RetainedKind, tuple[str, TextClause]]] = {
    RetainedKind.RUNS: ("created_at", COUNT_RUNS),
    RetainedKind.EVENTS: ("at", COUNT_EVENTS),
    RetainedKind.CALLBACKS: ("created_at", COUNT_CALLBACKS),
    RetainedKind.PROCESSES: ("started_at", COUNT_PROCESSES),
}


def tables(kind: RetainedKind) -> list[str]:
    """Return the tables that an archive has of a kind; the one whose ids are named is the last."""
    return list(_CONTENTS[kind])


def read(
    conn: Connection, kind: RetainedKind, table: str, ids: Sequence[int]
) -> list[dict[str, Any]]:
    """Return what goes from that table with the rows of these ids."""
    found = conn.execute(_CONTENTS[kind][table], {"ids": list(ids)})
    return [{str(name): value for name, value in row.items()} for row in found.mappings()]


def moment(kind: RetainedKind) -> str:
    """Return the column that says when a row of a kind came."""
    return _COUNTS[kind][0]


def removed(conn: Connection, portions: Collection[str]) -> Collection[str]:
    """Return the portions whose removal the journal has."""
    return set(conn.scalars(REMOVED, {"portions": list(portions)}))


def has_all(conn: Connection, kind: RetainedKind, rows: Sequence[tuple[int, datetime]]) -> bool:
    """Tell whether all these rows, by id and the moment they came, are in the database."""
    given = {"ids": [id_ for id_, _ in rows], "moments": [at for _, at in rows]}
    return bool(conn.scalar(_COUNTS[kind][1], given) == len(rows))
