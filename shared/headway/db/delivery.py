"""The one way by which workers read connections and variables: a function of the database.

A worker's role may not look into the tables.  The function runs with the rights of their
owner, and gives out what is stored only to the process that has claimed a live attempt, and
only if the DAG of that attempt is granted it.  The process has proved on its connection which one
it is (`identity.py`): what a worker's role can read in tables of other workers' attempts, their
tokens among it, and in the text of their statements, is not enough.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, Row, text

from headway.db.attempts import AttemptKey
from headway.db.callback_claims import CallbackKey
from headway.db.notification_claims import NotificationKey
from headway.domain.secret_kind import SecretKind
from headway.runtime.keyring import Sealed

FUNCTION: Final = "headway_secret"
SIGNATURE: Final = f"{FUNCTION}(text, text, bigint, integer, uuid)"
OF_CALL: Final = "headway_secret_of_call(text, text, text, bigint, uuid)"
FORMER: Final = f"{FUNCTION}(text, text, bigint, integer, uuid, uuid)"
"""As it was when the proof was shown with each question, and others could watch."""

INSTALLED = text("""
    SELECT obj_description(it.oid, 'pg_proc')
      FROM pg_proc AS it
     WHERE it.oid = to_regprocedure(:signature)
""")

HERE = text("SELECT quote_ident(current_schema())")

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

# Whatever stands in other schemas of the path, all names are those of this one.
_INSTALL: Final = """
CREATE OR REPLACE FUNCTION {schema}.headway_secret(
    of_kind text, of_name text, of_task bigint, of_attempt integer, of_token uuid
) RETURNS TABLE (granted boolean, present boolean, key_id text, sealed bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $gate$
    SELECT may.granted, secret.name IS NOT NULL,
           CASE WHEN may.granted THEN secret.key_id END,
           CASE WHEN may.granted THEN secret.sealed END
      FROM {schema}.task_attempt AS it
     CROSS JOIN LATERAL (
           SELECT EXISTS (SELECT FROM {schema}.secret_grant AS given
                           WHERE given.kind = of_kind AND given.name = of_name
                             AND given.dag_id IN (it.dag_id, '*')) AS granted) AS may
      LEFT JOIN {schema}.secret AS secret ON secret.kind = of_kind AND secret.name = of_name
     WHERE it.task_instance_id = of_task AND it.attempt = of_attempt AND it.token = of_token
       AND it.phase IN ('running', 'stopping')
       AND it.process_id = (SELECT id FROM {schema}.headway_current_process)
$gate$;
REVOKE ALL ON FUNCTION {schema}.{signature} FROM PUBLIC;
COMMENT ON FUNCTION {schema}.{signature} IS '{version}';
DROP FUNCTION IF EXISTS {schema}.{former};
"""

# A callback, or a notification, is claimed as an attempt is; it is of the DAG of its run.
_INSTALL_OF_CALL: Final = """
CREATE OR REPLACE FUNCTION {schema}.headway_secret_of_call(
    of_kind text, of_name text, of_what text, of_id bigint, of_token uuid
) RETURNS TABLE (granted boolean, present boolean, key_id text, sealed bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $gate$
    SELECT may.granted, secret.name IS NOT NULL,
           CASE WHEN may.granted THEN secret.key_id END,
           CASE WHEN may.granted THEN secret.sealed END
      FROM (SELECT dag_run_id, process_id FROM {schema}.callback
             WHERE of_what = 'callback' AND id = of_id AND token = of_token AND state = 'running'
             UNION ALL
            SELECT dag_run_id, process_id FROM {schema}.notification
             WHERE of_what = 'notification' AND id = of_id AND token = of_token
               AND state = 'running') AS it
      JOIN {schema}.dag_run AS run ON run.id = it.dag_run_id
     CROSS JOIN LATERAL (
           SELECT EXISTS (SELECT FROM {schema}.secret_grant AS given
                           WHERE given.kind = of_kind AND given.name = of_name
                             AND given.dag_id IN (run.dag_id, '*')) AS granted) AS may
      LEFT JOIN {schema}.secret AS secret ON secret.kind = of_kind AND secret.name = of_name
     WHERE it.process_id = (SELECT id FROM {schema}.headway_current_process)
$gate$;
REVOKE ALL ON FUNCTION {schema}.{signature} FROM PUBLIC;
COMMENT ON FUNCTION {schema}.{signature} IS '{version}';
"""

_VERSION: Final = sha256(_INSTALL.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Delivered:
    """What an attempt may know: whether its DAG is granted the name, and what is stored there.

    `present` tells whether anything is stored, `sealed` is that, if it is granted.
    """

    granted: bool
    present: bool
    sealed: Sealed | None = field(repr=False)


def install(conn: Connection) -> None:
    """Put the function of this release in place; nothing if it is there."""
    if conn.scalar(INSTALLED, {"signature": SIGNATURE}) != _VERSION:
        statement = _INSTALL.format(
            schema=conn.scalar(HERE), version=_VERSION, signature=SIGNATURE, former=FORMER
        )
        conn.exec_driver_sql(statement.replace("%", "%%"))
    version = sha256(_INSTALL_OF_CALL.encode()).hexdigest()[:16]
    if conn.scalar(INSTALLED, {"signature": OF_CALL}) != version:
        statement = _INSTALL_OF_CALL.format(
            schema=conn.scalar(HERE), version=version, signature=OF_CALL
        )
        conn.exec_driver_sql(statement.replace("%", "%%"))


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
