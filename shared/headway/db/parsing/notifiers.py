"""SQL that stores the notifiers of new versions."""

from collections.abc import Iterable
from hashlib import sha256
from json import dumps

from sqlalchemy import Connection, text

from headway.domain.dag.notifiers import NotifierSpec
from headway.domain.dag.spec import DagSpec

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
    conn.execute(
        ADD_OF_VERSIONS, {name: list(column) for name, column in zip(names, columns, strict=True)}
    )
