"""SQL on what an archive keeps of rows that are to be removed: all columns but tokens and proofs.

A column of JSON comes as its text, under its name with `_json`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, TextClause, text

from headway.domain.retention import Kind

RUNS = text("""
    SELECT *, CAST(conf AS text) AS conf_json FROM dag_run WHERE id = ANY (:ids) ORDER BY id
""")

TASK_INSTANCES = text("""
    SELECT * FROM task_instance WHERE dag_run_id = ANY (:ids) ORDER BY id
""")

ATTEMPTS = text("""
    SELECT it.task_instance_id, it.attempt, it.phase, it.dag_id, it.pool, it.pool_slots, it.queue,
           it.rank, it.scheduler_id, it.process_id, it.queued_at, it.claimed_until, it.started_at,
           it.ended_at, it.outcome, it.error, CAST(it.handle AS text) AS handle_json, it.stop_to
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

XCOMS = text("""
    SELECT it.*, CAST(it.value AS text) AS value_json
      FROM task_instance AS task
      JOIN xcom AS it ON it.task_instance_id = task.id
     WHERE task.dag_run_id = ANY (:ids)
     ORDER BY it.task_instance_id, it.attempt, it.key
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

PASSED = text("""
    SELECT * FROM passed_interval WHERE dag_run_id = ANY (:ids) ORDER BY dag_id, interval_end
""")

CALLBACKS_OF_RUNS = text("""
    SELECT id, dag_run_id, task_id, map_index, attempt, event, reason, cause, queue, state, tries,
           process_id, claimed_until, created_at, started_at, ended_at, error
      FROM callback
     WHERE dag_run_id = ANY (:ids)
     ORDER BY id
""")

CALLBACKS = text("""
    SELECT id, dag_run_id, task_id, map_index, attempt, event, reason, cause, queue, state, tries,
           process_id, claimed_until, created_at, started_at, ended_at, error
      FROM callback
     WHERE id = ANY (:ids)
     ORDER BY id
""")

EVENTS = text("""
    SELECT *, CAST(details AS text) AS details_json FROM event WHERE id = ANY (:ids) ORDER BY id
""")

PROCESSES = text("""
    SELECT id, kind, hostname, pid, version, epoch, queues, slots, bundles, drain_asked_at,
           exclusive, started_at, ended_at
      FROM process
     WHERE id = ANY (:ids)
     ORDER BY id
""")

ANY_RUN = text("SELECT EXISTS (SELECT FROM dag_run WHERE id = ANY (:ids))")
ANY_EVENT = text("SELECT EXISTS (SELECT FROM event WHERE id = ANY (:ids))")
ANY_CALLBACK = text("SELECT EXISTS (SELECT FROM callback WHERE id = ANY (:ids))")
ANY_PROCESS = text("SELECT EXISTS (SELECT FROM process WHERE id = ANY (:ids))")

_CONTENTS: Final[Mapping[Kind, Mapping[str, TextClause]]] = {
    Kind.RUNS: {
        "task_instance": TASK_INSTANCES,
        "task_attempt": ATTEMPTS,
        "spark_work": SPARK_WORK,
        "xcom": XCOMS,
        "callback": CALLBACKS_OF_RUNS,
        "deadline": DEADLINES,
        "notification": NOTIFICATIONS,
        "notified_event": NOTIFIED,
        "passed_interval": PASSED,
        "dag_run": RUNS,
    },
    Kind.EVENTS: {"event": EVENTS},
    Kind.CALLBACKS: {"callback": CALLBACKS},
    Kind.PROCESSES: {"process": PROCESSES},
}

_ANY: Final[Mapping[Kind, TextClause]] = {
    Kind.RUNS: ANY_RUN,
    Kind.EVENTS: ANY_EVENT,
    Kind.CALLBACKS: ANY_CALLBACK,
    Kind.PROCESSES: ANY_PROCESS,
}


def tables(kind: Kind) -> list[str]:
    """Return the tables that an archive has of a kind; the one whose ids are named is the last."""
    return list(_CONTENTS[kind])


def read(conn: Connection, kind: Kind, table: str, ids: Sequence[int]) -> list[dict[str, Any]]:
    """Return what goes from that table with the rows of these ids."""
    found = conn.execute(_CONTENTS[kind][table], {"ids": list(ids)})
    return [{str(name): value for name, value in row.items()} for row in found.mappings()]


def is_any_left(conn: Connection, kind: Kind, ids: Sequence[int]) -> bool:
    """Tell whether any of these rows is in the database."""
    return bool(conn.scalar(_ANY[kind], {"ids": list(ids)}))
