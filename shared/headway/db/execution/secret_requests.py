"""How a worker asks for connections and variables: a function of the database."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.callback_claims import CallbackKey
from headway.db.execution.notification_claims import NotificationKey
from headway.domain.variable import SecretKind
from headway.runtime.secrets.keyring import Sealed

ASK = text("""
    SELECT granted, present, key_id, sealed
      FROM headway_secret(CAST(:kind AS text), CAST(:name AS text), CAST(:task_id AS bigint),
                          CAST(:attempt AS integer), CAST(:token AS uuid))
""")


ASK_OF_CALL = text("""
    SELECT granted, present, key_id, sealed
      FROM headway_secret_of_call(CAST(:kind AS text), CAST(:name AS text), CAST(:what AS text),
                                  CAST(:id AS bigint), CAST(:token AS uuid))
""")


@dataclass(frozen=True, slots=True)
class Delivered:
    """What an attempt may know: whether its DAG is granted the name, and what is stored there.

    `present` tells whether anything is stored, `sealed` is that, if it is granted.
    """

    granted: bool
    present: bool
    sealed: Sealed | None = field(repr=False)


def ask(
    conn: Connection, key: AttemptKey | CallbackKey, kind: SecretKind, name: str
) -> Delivered | None:
    """Ask for what an attempt or a callback wants; None when it is not this worker's any more.

    The connection must have said which worker it is of.
    """
    if isinstance(key, CallbackKey):
        what = "notification" if isinstance(key, NotificationKey) else "callback"
        named = {"kind": kind, "name": name, "what": what, "id": key.id, "token": str(key.token)}
        return _delivered(conn.execute(ASK_OF_CALL, named).one_or_none())
    row = conn.execute(
        ASK,
        {
            "kind": kind,
            "name": name,
            "task_id": key.task_instance_id,
            "attempt": key.attempt,
            "token": str(key.token),
        },
    ).one_or_none()
    return _delivered(row)


def _delivered(row: Row[Any] | None) -> Delivered | None:
    if row is None:
        return None
    sealed = None if row.sealed is None else Sealed(row.key_id, bytes(row.sealed))
    return Delivered(row.granted, row.present, sealed)
