"""Rights of PUBLIC, so of every role, that fill the disk, and that no migration can revoke.

They belong to the database, to its schema and to functions of the server.  Other users of a
database may need them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from headway.db.core import engine as engines

TEMPORARY = text("""
    SELECT quote_ident(current_database()) AS object,
           has_database_privilege('public', current_database(), 'TEMPORARY') AS granted
""")

CREATE = text("""
    SELECT quote_ident(current_schema()) AS object,
           has_schema_privilege('public', current_schema(), 'CREATE') AS granted
""")

LARGE_OBJECTS = text("""
    SELECT string_agg(its.signature, ', ' ORDER BY its.signature) AS object,
           count(*) > 0 AS granted
      FROM pg_proc
     CROSS JOIN LATERAL (
           SELECT 'pg_catalog.' || proname
                  || '(' || pg_get_function_identity_arguments(oid) || ')' AS signature) AS its
     WHERE pronamespace = CAST('pg_catalog' AS regnamespace)
       AND (starts_with(proname, 'lo_') OR proname IN ('loread', 'lowrite'))
       AND has_function_privilege('public', oid, 'EXECUTE')
""")

_KINDS: Final = (
    ("temporary tables", TEMPORARY, "TEMPORARY ON DATABASE", "the owner of the database"),
    ("tables", CREATE, "CREATE ON SCHEMA", "the owner of the schema"),
    ("large objects", LARGE_OBJECTS, "EXECUTE ON FUNCTION", "a superuser"),
)


@dataclass(frozen=True, slots=True)
class PublicRight:
    """What PUBLIC may make or not, the statement that revokes that, and who may execute it."""

    what: str
    granted: bool
    revoke: str
    by: str


def found(conn: Connection) -> Iterator[PublicRight]:
    """Yield each of these rights as it is in this database."""
    for what, look, right, by in _KINDS:
        row = conn.execute(look).one()
        yield PublicRight(what, row.granted, f"REVOKE {right} {row.object} FROM PUBLIC;", by)


def revoke(url: str) -> None:
    """Revoke what PUBLIC has of these rights, in a database that is Headway's alone."""
    engine = engines.connect(url, name="headway migrate", pool_size=1)
    try:
        with engine.begin() as conn:
            for right in list(found(conn)):
                if right.granted:
                    conn.exec_driver_sql(right.revoke.replace("%", "%%"))
    finally:
        engine.dispose()
