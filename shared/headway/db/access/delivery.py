"""The one way by which services read connections and variables: functions of the database.

A worker's role may not look into the tables.  The function runs with the rights of their
owner, and gives out what is stored only to the process that has claimed a live attempt, and
only if the DAG of that attempt is granted it.  The process has proved on its connection which one
it is (`identity.py`): what a worker's role can read in tables of other workers' attempts, their
tokens among it, and in the text of their statements, is not enough.

What is granted to a bundle is given to the parser that has the bundle, and to the attempts and
callbacks that run a version of the bundle: their processes run the DAG file anew, and it reads the
same names.  The bundle is that of the version, whatever bundle has the DAG by now: what runs is the
code of that bundle's authors.  A worker of an older release notes no version; then it is that of
the run.
"""

from hashlib import sha256
from typing import Final

from sqlalchemy import Connection, text

FUNCTION: Final = "headway_secret"


SIGNATURE: Final = f"{FUNCTION}(text, text, bigint, integer, uuid)"


OF_CALL: Final = "headway_secret_of_call(text, text, text, bigint, uuid)"


OF_BUNDLE: Final = "headway_secrets_of_bundle(text, text[], text[], boolean)"


FORMER: Final = f"{FUNCTION}(text, text, bigint, integer, uuid, uuid)"
"""As it was when the proof was shown with each question, and others could watch."""


INSTALLED = text("""
    SELECT obj_description(it.oid, 'pg_proc')
      FROM pg_proc AS it
     WHERE it.oid = to_regprocedure(:signature)
""")


HERE = text("SELECT quote_ident(current_schema())")


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
                             AND given.dag_id IN (it.dag_id, '*', 'bundle:' || (
                                 SELECT version.bundle FROM {schema}.dag_version AS version
                                  WHERE version.dag_id = it.dag_id
                                    AND version.id = coalesce(it.version_id, (
                                        SELECT run.version_id
                                          FROM {schema}.task_instance AS task
                                          JOIN {schema}.dag_run AS run ON run.id = task.dag_run_id
                                         WHERE task.id = it.task_instance_id))))) AS granted) AS may
      LEFT JOIN {schema}.secret AS secret ON secret.kind = of_kind AND secret.name = of_name
     WHERE it.task_instance_id = of_task AND it.attempt = of_attempt AND it.token = of_token
       AND it.phase IN ('running', 'stopping')
       AND it.process_id = (SELECT id FROM {schema}.headway_current_process)
$gate$;
REVOKE ALL ON FUNCTION {schema}.{signature} FROM PUBLIC;
COMMENT ON FUNCTION {schema}.{signature} IS '{version}';
DROP FUNCTION IF EXISTS {schema}.{former};
"""


# A callback, or a notification, is claimed as an attempt is; it is of the DAG of its run.  What a
# notification does is in its notifier: it is of the run's version if that one has this notifier,
# else of the newest version of the DAG that has it.
_INSTALL_OF_CALL: Final = """
CREATE OR REPLACE FUNCTION {schema}.headway_secret_of_call(
    of_kind text, of_name text, of_what text, of_id bigint, of_token uuid
) RETURNS TABLE (granted boolean, present boolean, key_id text, sealed bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $gate$
    SELECT may.granted, secret.name IS NOT NULL,
           CASE WHEN may.granted THEN secret.key_id END,
           CASE WHEN may.granted THEN secret.sealed END
      FROM (SELECT called.dag_run_id, called.process_id,
                   coalesce(called.version_id, its.version_id) AS version_id
              FROM {schema}.callback AS called
              JOIN {schema}.dag_run AS its ON its.id = called.dag_run_id
             WHERE of_what = 'callback' AND called.id = of_id AND called.token = of_token
               AND called.state = 'running'
             UNION ALL
            SELECT told.dag_run_id, told.process_id,
                   (SELECT naming.version_id
                      FROM {schema}.dag_run AS its
                      JOIN {schema}.dag_version AS version ON version.dag_id = its.dag_id
                      JOIN {schema}.dag_notifier AS naming ON naming.version_id = version.id
                     WHERE its.id = told.dag_run_id AND naming.notifier = told.notifier
                     ORDER BY naming.version_id = its.version_id DESC, naming.version_id DESC
                     LIMIT 1)
              FROM {schema}.notification AS told
             WHERE of_what = 'notification' AND told.id = of_id AND told.token = of_token
               AND told.state = 'running') AS it
      JOIN {schema}.dag_run AS run ON run.id = it.dag_run_id
     CROSS JOIN LATERAL (
           SELECT EXISTS (SELECT FROM {schema}.secret_grant AS given
                           WHERE given.kind = of_kind AND given.name = of_name
                             AND given.dag_id IN (run.dag_id, '*', 'bundle:' || (
                                 SELECT version.bundle FROM {schema}.dag_version AS version
                                  WHERE version.dag_id = run.dag_id
                                    AND version.id = it.version_id))) AS granted) AS may
      LEFT JOIN {schema}.secret AS secret ON secret.kind = of_kind AND secret.name = of_name
     WHERE it.process_id = (SELECT id FROM {schema}.headway_current_process)
$gate$;
REVOKE ALL ON FUNCTION {schema}.{signature} FROM PUBLIC;
COMMENT ON FUNCTION {schema}.{signature} IS '{version}';
"""


# A parser reads for a file of a bundle; without `whole` it looks whether anything has changed.
_INSTALL_OF_BUNDLE: Final = """
CREATE OR REPLACE FUNCTION {schema}.headway_secrets_of_bundle(
    of_bundle text, of_kinds text[], of_names text[], whole boolean
) RETURNS TABLE (kind text, name text, granted boolean, present boolean, changed_at timestamptz,
                 key_id text, sealed bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $gate$
    SELECT asked.kind, asked.name, may.granted, secret.name IS NOT NULL, secret.changed_at,
           CASE WHEN may.granted AND whole THEN secret.key_id END,
           CASE WHEN may.granted AND whole THEN secret.sealed END
      FROM {schema}.process AS it
     CROSS JOIN unnest(of_kinds, of_names) AS asked (kind, name)
     CROSS JOIN LATERAL (
           SELECT EXISTS (SELECT FROM {schema}.secret_grant AS given
                           WHERE given.kind = asked.kind AND given.name = asked.name
                             AND given.dag_id = 'bundle:' || of_bundle) AS granted) AS may
      LEFT JOIN {schema}.secret AS secret
        ON secret.kind = asked.kind AND secret.name = asked.name
     WHERE it.id = (SELECT id FROM {schema}.headway_current_process)
       AND it.kind = 'parser' AND of_bundle = ANY (it.bundles)
$gate$;
REVOKE ALL ON FUNCTION {schema}.{signature} FROM PUBLIC;
COMMENT ON FUNCTION {schema}.{signature} IS '{version}';
"""


_VERSION: Final = sha256(_INSTALL.encode()).hexdigest()[:16]


def install(conn: Connection) -> None:
    """Put the functions of this release in place; nothing where they are there."""
    if conn.scalar(INSTALLED, {"signature": SIGNATURE}) != _VERSION:
        statement = _INSTALL.format(
            schema=conn.scalar(HERE), version=_VERSION, signature=SIGNATURE, former=FORMER
        )
        conn.exec_driver_sql(statement.replace("%", "%%"))
    for signature, template in ((OF_CALL, _INSTALL_OF_CALL), (OF_BUNDLE, _INSTALL_OF_BUNDLE)):
        version = sha256(template.encode()).hexdigest()[:16]
        if conn.scalar(INSTALLED, {"signature": signature}) != version:
            statement = template.format(
                schema=conn.scalar(HERE), version=version, signature=signature
            )
            conn.exec_driver_sql(statement.replace("%", "%%"))
