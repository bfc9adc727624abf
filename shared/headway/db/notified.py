"""SQL on what notifiers tell of: entered with what has happened, in the transaction of that."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from json import dumps
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from headway.domain.callbacks import CallbackEvent, RunReason, task_event
from headway.domain.notifiers import NotifierSpec
from headway.domain.spec import DagSpec
from headway.domain.states import TaskState

if TYPE_CHECKING:
    from headway.db.attempts import Report

ADD_NOTIFIERS = text("""
    INSERT INTO notifier (hash, definition)
    SELECT it.hash, CAST(it.definition AS json)
      FROM unnest(CAST(:hashes AS text[]), CAST(:definitions AS text[])) AS it (hash, definition)
     ORDER BY it.hash
        ON CONFLICT DO NOTHING
""")

ADD_OF_VERSIONS = text("""
    INSERT INTO dag_notifier (version_id, task_id, event, notifier)
    SELECT it.*
      FROM unnest(CAST(:version_ids AS bigint[]), CAST(:task_ids AS text[]),
                  CAST(:events AS text[]), CAST(:notifiers AS text[])) AS it
""")

ADD_OF_TASKS = text("""
    INSERT INTO notified_event (dag_run_id, notifier, event, task_id, map_index, attempt, reason,
                                cause)
    SELECT run.id, its.notifier, it.event, task.task_id, task.map_index, it.attempt, it.reason,
           it.cause
      FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]), CAST(:events AS text[]),
                  CAST(:reasons AS text[]), CAST(:causes AS text[]))
           AS it (task_instance_id, attempt, event, reason, cause)
      JOIN task_instance AS task ON task.id = it.task_instance_id
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag_notifier AS its ON its.version_id = run.version_id
                              AND its.task_id = task.task_id AND its.event = it.event
     ORDER BY task.id
""")

ADD_OF_RUNS = text("""
    INSERT INTO notified_event (dag_run_id, notifier, event, reason)
    SELECT run.id, its.notifier, it.event, it.reason
      FROM unnest(CAST(:runs AS bigint[]), CAST(:events AS text[]), CAST(:reasons AS text[]))
           AS it (run, event, reason)
      JOIN dag_run AS run ON run.id = it.run
      JOIN dag_notifier AS its ON its.version_id = run.version_id AND its.task_id = ''
                              AND its.event = it.event
""")

# Those of the run are about its tasks' deadlines, too.
ADD_OF_DEADLINES = text("""
    INSERT INTO notified_event (dag_run_id, notifier, event, task_id, reason, cause)
    SELECT DISTINCT ON (it.id, its.notifier) run.id, its.notifier, its.event, it.task_id, it.name,
           to_char(it.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
      FROM deadline AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN dag_notifier AS its ON its.version_id = run.version_id
                              AND its.task_id IN ('', it.task_id) AND its.event = 'missed_deadline'
     WHERE it.id = ANY (:deadlines)
""")


def hash_of(notifier: NotifierSpec) -> tuple[str, str]:
    """Return what identifies a notifier, and its canonical JSON; what it tells of is apart."""
    definition = dumps(
        {
            "connection": notifier.connection,
            "subject": notifier.subject,
            "body": notifier.body,
            "to": notifier.to,
        },
        sort_keys=True,
    )
    return sha256(definition.encode()).hexdigest(), definition


def add_of_versions(conn: Connection, specs: Iterable[tuple[int, DagSpec]]) -> None:
    """Store the notifiers of new versions as rows; nothing is done where there are none."""
    found = [
        (version, task_id, notifier)
        for version, spec in specs
        for task_id, given in [
            ("", spec.notifiers),
            *((task.task_id, task.notifiers) for task in spec.tasks),
        ]
        for notifier in given
    ]
    if not found:
        return
    stored = dict(hash_of(notifier) for _, _, notifier in found)
    conn.execute(ADD_NOTIFIERS, {"hashes": list(stored), "definitions": list(stored.values())})
    rows = {
        (version, task_id, str(event), hash_of(notifier)[0])
        for version, task_id, notifier in found
        for event in notifier.on
    }
    columns = zip(*sorted(rows), strict=True)
    names = ("version_ids", "task_ids", "events", "notifiers")
    conn.execute(ADD_OF_VERSIONS, {name: list(it) for name, it in zip(names, columns, strict=True)})


def add_of_tasks(conn: Connection, ended: Sequence[tuple["Report", TaskState]]) -> None:
    """Enter those ends of attempts of which notifiers tell, each with the state of its task."""
    having = [(its, state) for its, state in ended if its.notifies]
    events = [(its, task_event(its.notifies, its.outcome, state)) for its, state in having]
    found = [(its, event) for its, event in events if event is not None]
    if not found:
        return
    parameters: dict[str, Any] = {
        "task_ids": [its.key.task_instance_id for its, _ in found],
        "attempts": [its.key.attempt for its, _ in found],
        "events": [str(event) for _, event in found],
        "reasons": [str(its.outcome) for its, _ in found],
        "causes": [its.error for its, _ in found],
    }
    conn.execute(ADD_OF_TASKS, parameters)


def add_of_runs(conn: Connection, events: Sequence[tuple[int, CallbackEvent, RunReason]]) -> None:
    """Enter ends of runs of which notifiers tell, in the transaction that ends these."""
    if events:
        conn.execute(
            ADD_OF_RUNS,
            {
                "runs": [run for run, _, _ in events],
                "events": [str(event) for _, event, _ in events],
                "reasons": [str(reason) for _, _, reason in events],
            },
        )


def add_of_deadlines(conn: Connection, missed: Sequence[int]) -> None:
    """Enter missed deadlines, in the transaction that judges these."""
    if missed:
        conn.execute(ADD_OF_DEADLINES, {"deadlines": list(missed)})
