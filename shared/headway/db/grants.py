"""Who may do what to which table: the least that each role needs, and nothing else.

The matrix is put in place by `headway db migrate`, is shown in docs/grants.md, and is held
by tests against the statements of each service and against the database's catalogue.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from sqlalchemy import Connection, text

from headway.db import delivery
from headway.db.logins import Login
from headway.db.schema import METADATA

VERSION_TABLE: Final = "alembic_version"
TABLES: Final = (*sorted(METADATA.tables), VERSION_TABLE)

_READ_ALL: Final = {table: "SELECT" for table in TABLES if table != "secret"}

GRANTS: Final[Mapping[Login, Mapping[str, str]]] = {
    Login.PARSER: {
        "alembic_version": "SELECT",
        "code_file": "SELECT, INSERT, DELETE, UPDATE (stored_at)",
        "code_manifest": "SELECT, INSERT, DELETE, UPDATE (stored_at)",
        "dag": "SELECT, INSERT, UPDATE (bundle, relative_path, description, tags, "
        "version_id, active, max_active_runs, max_active_tasks, scheduled_since)",
        "dag_bundle": "SELECT, INSERT, UPDATE (commit, parser_id, asked_at)",
        "dag_edge": "INSERT",
        "dag_file": "SELECT, INSERT, DELETE, UPDATE (signature, paths, seconds, parsed_at, due_at, "
        "failures, asked, parser_id, claimed, warning)",
        "dag_run": "SELECT, UPDATE (version_id, pinned)",
        "dag_task": "SELECT, INSERT",
        "dag_version": "SELECT, INSERT, DELETE, UPDATE (left_at)",
        "event": "INSERT",
        "import_error": "SELECT, INSERT, DELETE, UPDATE (error, at)",
        "process": "SELECT, INSERT, UPDATE (ended_at, bundles)",
        "process_beat": "SELECT, INSERT, UPDATE (beat_at, clock_skew)",
        "task_definition": "SELECT, INSERT, DELETE, UPDATE (stored_at)",
    },
    Login.SCHEDULER: {
        "alembic_version": "SELECT",
        "backfill": "SELECT",
        "backfill_date": "SELECT",
        "callback": "INSERT",
        "dag": "SELECT, UPDATE (planned_version_id, next_run_after, next_interval_start, "
        "next_interval_end, next_below, schedule_error, scheduled_since, watched_since)",
        "dag_run": "SELECT, INSERT, UPDATE (state, started_at, ended_at, lock_id, "
        "unfinished, end_as, timed_out, deadline, parse_asked_at)",
        "dag_task": "SELECT",
        "dag_version": "SELECT",
        "event": "INSERT",
        "lease": "SELECT, DELETE",
        "passed_interval": "SELECT, INSERT",
        "pool": "SELECT, UPDATE (description)",
        "process": "SELECT, INSERT, UPDATE (epoch, ended_at, exclusive)",
        "process_beat": "SELECT, INSERT, UPDATE (beat_at, clock_skew)",
        "schedule_watch": "SELECT, INSERT, UPDATE (since, seen_at)",
        "task_attempt": "SELECT, INSERT, UPDATE (phase, ended_at, outcome, error, scheduler_id, "
        "stop_to)",
        "task_instance": "SELECT, INSERT, DELETE, UPDATE (map_index, state, attempt, failures, "
        "losses, skips, retry_at, started_at, ended_at, rank, up_total, "
        "up_success, up_failed, up_upstream_failed, up_skipped, up_removed)",
        "wake": "SELECT, INSERT, DELETE",
        "xcom": "SELECT",
    },
    Login.WORKER: {
        "alembic_version": "SELECT",
        "callback": "SELECT, INSERT, UPDATE (state, tries, token, process_id, claimed_until, "
        "started_at, ended_at, error)",
        "code_file": "SELECT",
        "code_manifest": "SELECT",
        "dag_run": "SELECT",
        "dag_task": "SELECT",
        "dag_version": "SELECT",
        "event": "INSERT",
        "lease": "SELECT, INSERT, DELETE, UPDATE (expires_at)",
        "process": "SELECT, INSERT, UPDATE (ended_at, drain_asked_at)",
        "process_beat": "SELECT, INSERT, UPDATE (beat_at, clock_skew, report)",
        "spark_work": "SELECT, INSERT, UPDATE (progress, figures, updated_at)",
        "task_attempt": "SELECT, UPDATE (phase, token, process_id, started_at, ended_at, outcome, "
        "error, handle, claimed_until)",
        "task_instance": "SELECT, UPDATE (state, failures, losses, skips, retry_at, started_at, "
        "ended_at)",
        "wake": "INSERT",
        "xcom": "SELECT, INSERT, UPDATE (value, length)",
    },
    Login.USER: {
        **_READ_ALL,
        "backfill": "SELECT, INSERT, UPDATE (planned, paused, cancelled_at)",
        "backfill_date": "SELECT, INSERT",
        "dag": "SELECT, DELETE, UPDATE (active, paused, planned_version_id, next_run_after, "
        "scheduled_since)",
        "dag_bundle": "SELECT, DELETE",
        "dag_file": "SELECT, DELETE, UPDATE (asked)",
        "dag_run": "SELECT, INSERT, DELETE, UPDATE (state, run_after, started_at, ended_at, "
        "end_as, timed_out, deadline, version_id, pinned, unfinished, backfill_id, conf)",
        "dag_version": "SELECT, DELETE",
        "event": "SELECT, INSERT",
        "import_error": "SELECT, DELETE",
        "lease": "SELECT, DELETE",
        "passed_interval": "SELECT, INSERT",
        "pool": "SELECT, INSERT, DELETE, UPDATE (slots, description, include_deferred)",
        "process": "SELECT, UPDATE (drain_asked_at)",
        "secret": "SELECT, INSERT, DELETE, UPDATE (type, description, key_id, sealed, changed_at)",
        "secret_grant": "SELECT, INSERT, DELETE",
        "task_attempt": "SELECT, UPDATE (phase, ended_at, outcome, error, stop_to)",
        "task_instance": "SELECT, INSERT, DELETE, UPDATE (map_index, state, attempt, failures, "
        "losses, skips, retry_at, started_at, ended_at, pool, pool_slots, queue, priority, "
        "limited, lane)",
        "wake": "SELECT, INSERT, DELETE",
    },
    Login.READONLY: _READ_ALL,
}
"""The privileges of each role, by table, as a GRANT names them."""

FUNCTIONS: Final[Mapping[Login, Sequence[str]]] = {Login.WORKER: (delivery.SIGNATURE,)}
"""The functions that roles may call, beside the triggers, which nobody calls."""

Privilege: TypeAlias = tuple[str, str, str, str]
"""A role, a table, what it may do to that, and the column, or nothing where it is any."""

# Without any entry everybody may call a function; with one it is as with tables.
CALLED = text("""
    SELECT coalesce(role.rolname, 'public') AS login, wanted.signature
      FROM unnest(CAST(:functions AS text[])) AS wanted (signature)
      JOIN pg_proc AS it ON it.oid = to_regprocedure(wanted.signature)
     CROSS JOIN LATERAL aclexplode(coalesce(it.proacl, acldefault('f', it.proowner))) AS acl
      LEFT JOIN pg_roles AS role ON role.oid = acl.grantee
     WHERE acl.grantee = 0 OR role.rolname = ANY (:logins)
""")

# To everybody (grantee 0) nothing is granted.
INSTALLED = text("""
    WITH granted AS (
        SELECT relname, relacl AS acl, '' AS column_name
          FROM pg_class WHERE oid = ANY (CAST(CAST(:tables AS text[]) AS regclass[]))
         UNION ALL
        SELECT relname, attacl, attname
          FROM pg_attribute
          JOIN pg_class ON pg_class.oid = attrelid
         WHERE attrelid = ANY (CAST(CAST(:tables AS text[]) AS regclass[])) AND attacl IS NOT NULL
    )
    SELECT coalesce(role.rolname, 'public') AS login, relname, acl.privilege_type, column_name
      FROM granted
     CROSS JOIN LATERAL aclexplode(granted.acl) AS acl
      LEFT JOIN pg_roles AS role ON role.oid = acl.grantee
     WHERE acl.grantee = 0 OR role.rolname = ANY (:logins)
""")

WITHOUT_SCHEMA = text("""
    SELECT login FROM unnest(CAST(:logins AS text[])) AS login
     WHERE NOT has_schema_privilege(login, current_schema(), 'USAGE')
""")

WITHOUT_DATABASE = text("""
    SELECT login FROM unnest(CAST(:logins AS text[])) AS login
     WHERE NOT has_database_privilege(login, current_database(), 'CONNECT')
""")

HERE = text("SELECT quote_ident(current_schema()), quote_ident(current_database())")

_CLAUSE: Final = re.compile(r"([A-Z]+)(?: \(([\w, ]+)\))?")


def expected(logins: Collection[Login] = tuple(Login)) -> set[Privilege]:
    """Return every single privilege that these roles shall have."""
    return {
        (login, table, verb, column)
        for login in logins
        for table, clause in GRANTS[login].items()
        for verb, column in _single(clause)
    }


def installed(conn: Connection) -> set[Privilege]:
    """Return every single privilege that the roles, and everybody, have in the database."""
    rows = conn.execute(INSTALLED, {"tables": list(TABLES), "logins": list(Login)})
    return {(row.login, row.relname, row.privilege_type, row.column_name) for row in rows}


def callable_by(conn: Connection) -> set[tuple[str, str]]:
    """Return which roles, or everybody, may call which of the functions."""
    functions = sorted({it for each in FUNCTIONS.values() for it in each})
    rows = conn.execute(CALLED, {"functions": functions, "logins": list(Login)})
    return {(row.login, row.signature) for row in rows}


def install(conn: Connection, logins: Sequence[Login]) -> None:
    """Give these roles what they shall have, and take away all else; nothing if that is so."""
    if not logins:
        return
    _admit(conn, logins)
    if installed(conn) != expected(logins):
        everyone = ", ".join([*logins, "PUBLIC"])
        statements = [f"REVOKE ALL ON TABLE {', '.join(TABLES)} FROM {everyone}"]
        for login in logins:
            statements += [
                f"GRANT {clause} ON TABLE {table} TO {login}"
                for table, clause in GRANTS[login].items()
            ]
        conn.exec_driver_sql(";\n".join(statements))
    _install_functions(conn, logins)


def _install_functions(conn: Connection, logins: Sequence[Login]) -> None:
    wanted = {(login, it) for login in logins for it in FUNCTIONS.get(login, ())}
    if callable_by(conn) == wanted:
        return
    everyone = ", ".join([*logins, "PUBLIC"])
    for function in sorted({it for each in FUNCTIONS.values() for it in each}):
        conn.exec_driver_sql(f"REVOKE ALL ON FUNCTION {function} FROM {everyone}")
    for login, function in sorted(wanted):
        conn.exec_driver_sql(f"GRANT EXECUTE ON FUNCTION {function} TO {login}")


def as_markdown() -> str:
    """Return the matrix as docs/grants.md shows it."""
    return "\n".join(_lines()) + "\n"


def _admit(conn: Connection, logins: Sequence[Login]) -> None:
    """Let these roles into the database and its schema, where not everybody may enter."""
    schema, database = conn.execute(HERE).one()
    for query, right in (
        (WITHOUT_SCHEMA, f"USAGE ON SCHEMA {schema}"),
        (WITHOUT_DATABASE, f"CONNECT ON DATABASE {database}"),
    ):
        outside = list(conn.scalars(query, {"logins": list(logins)}))
        if outside:
            conn.exec_driver_sql(f"GRANT {right} TO {', '.join(outside)}".replace("%", "%%"))


def _single(clause: str) -> Iterator[tuple[str, str]]:
    for verb, columns in _CLAUSE.findall(clause):
        for column in columns.split(", "):
            yield verb, column


def _lines() -> Iterator[str]:
    yield from (
        "# Grants",
        "",
        "What each role may do to each table of the database; to all others it may do nothing. Nor",
        "may it call any function that is not named; `headway_secret` is how a worker gets the",
        "[connections and variables](secrets.md) that its attempts are granted.",
        "The table is `shared/headway/db/grants.py` as `headway db grants` prints it, and",
        "`headway db migrate` puts it in place. How roles log in: [database.md](database.md).",
    )
    for login in Login:
        yield from ("", f"## {login}", "", "| table | privileges |", "|---|---|")
        for table, clause in sorted(GRANTS[login].items()):
            yield f"| `{table}` | {clause} |"
        for function in FUNCTIONS.get(login, ()):
            yield f"| function `{function}` | EXECUTE |"
