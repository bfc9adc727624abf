"""Grants in the database: what is installed, and how it becomes what `grants_matrix` says."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from sqlalchemy import Connection, text

from headway.db.access import delivery, expiry_functions
from headway.db.access.grants_matrix import GRANTS, RELATIONS
from headway.db.access.logins import Login

FUNCTIONS: Final[Mapping[Login, Sequence[str]]] = {
    Login.SCHEDULER: expiry_functions.SIGNATURES,
    Login.PARSER: (delivery.OF_BUNDLE,),
    Login.WORKER: (delivery.SIGNATURE, delivery.OF_CALL),
    Login.USER: expiry_functions.SIGNATURES,
    Login.API: expiry_functions.SIGNATURES,
}
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
    rows = conn.execute(INSTALLED, {"tables": list(RELATIONS), "logins": list(Login)})
    return {(row.login, row.relname, row.privilege_type, row.column_name) for row in rows}


def callable_by(conn: Connection) -> set[tuple[str, str]]:
    """Return which roles, or everybody, may call which of the functions."""
    functions = sorted({function for each in FUNCTIONS.values() for function in each})
    rows = conn.execute(CALLED, {"functions": functions, "logins": list(Login)})
    return {(row.login, row.signature) for row in rows}


def install(conn: Connection, logins: Sequence[Login]) -> None:
    """Give these roles what they shall have, and take away all else; nothing if that is so."""
    if not logins:
        return
    _admit(conn, logins)
    if installed(conn) != expected(logins):
        everyone = ", ".join([*logins, "PUBLIC"])
        statements = [f"REVOKE ALL ON TABLE {', '.join(RELATIONS)} FROM {everyone}"]
        for login in logins:
            statements += [
                f"GRANT {clause} ON TABLE {table} TO {login}"
                for table, clause in GRANTS[login].items()
            ]
        conn.exec_driver_sql(";\n".join(statements))
    _install_functions(conn, logins)


def _install_functions(conn: Connection, logins: Sequence[Login]) -> None:
    wanted = {(login, function) for login in logins for function in FUNCTIONS.get(login, ())}
    if callable_by(conn) == wanted:
        return
    everyone = ", ".join([*logins, "PUBLIC"])
    for function in sorted({name for each in FUNCTIONS.values() for name in each}):
        conn.exec_driver_sql(f"REVOKE ALL ON FUNCTION {function} FROM {everyone}")
    for login, function in sorted(wanted):
        conn.exec_driver_sql(f"GRANT EXECUTE ON FUNCTION {function} TO {login}")


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
