"""Databases of tests: copies of a migrated one, each of which is emptied and used again.

To copy and drop a database takes seven times as long as to empty one.
"""

import secrets
from collections import deque
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg2
from psycopg2 import sql
from sqlalchemy.engine import make_url

from headway.testing.database.postgres import ThrowawayPostgres

_MOST_GROWN: Final = 4 << 20
"""Bytes by which tests may make a database longer before it is dropped."""

_CATALOGS: Final = {
    "pg_attrdef": "adrelid",
    "pg_attribute": "attrelid",
    "pg_class": "oid",
    "pg_constraint": "oid",
    "pg_index": "indexrelid",
    "pg_policy": "oid",
    "pg_proc": "oid",
    "pg_statistic": "starelid",
    "pg_trigger": "oid",
    "pg_type": "oid",
}
"""What statements change that are not about rows alone; ANALYZE changes `pg_statistic`."""

_OF_USERS: Final = 16_384
"""The first number of what is not Postgres's own."""

_CATALOG: Final = "(SELECT (count(*), sum(xmin::text::bigint))::text FROM {} WHERE {} >= {})"

_CHANGES: Final = """
    SELECT (SELECT count(*) FROM pg_stat_activity
             WHERE datname = it.datname AND pid <> pg_backend_pid())
           + (SELECT count(*) FROM pg_db_role_setting AS own WHERE own.setdatabase = it.oid),
           pg_database_size(it.oid), it.datacl::text,
           (SELECT count(proacl) FROM pg_proc),
           (SELECT count(*) FROM pg_extension),
           (SELECT string_agg((nspname, nspacl)::text, ',' ORDER BY oid) FROM pg_namespace),
           {catalogs}
      FROM pg_database AS it
     WHERE it.datname = current_database()
"""

_TABLES: Final = """
    SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""

_INSERT: Final = """
    INSERT INTO {0} OVERRIDING SYSTEM VALUE
    SELECT * FROM json_populate_recordset(NULL::{0}, {1})
"""


@dataclass(slots=True)
class TestDatabases:
    """Databases of a server, as a migrated one is: `template`, to which nobody is connected."""

    __test__ = False

    server: ThrowawayPostgres
    template: str
    _emptying: str = ""
    _unchanged: tuple[Any, ...] = ()
    _used: deque[str] = field(default_factory=deque)
    _connections: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with closing(self._connect(self.template)) as connection, connection.cursor() as cursor:
            self._unchanged = _changes(cursor)
            self._emptying = _emptying(cursor)

    def take(self) -> str:
        """Return the name of a database."""
        if len(self._used) > 1:  # one that has just been used may have connections that are ending
            name = self._used.popleft()
            if self._is_emptied(name):
                return name
            self._drop(name)
        name = f"headway_test_{secrets.token_hex(4)}"
        self.server.create_database(name, self.template)
        return name

    def give_back(self, name: str) -> None:
        """Have another test use the database of one that has ended."""
        self._used.append(name)

    def drop(self) -> None:
        """Drop all databases that were given back."""
        while self._used:
            self._drop(self._used.popleft())

    def _is_emptied(self, name: str) -> bool:
        """Delete what a test has stored; False if it has changed more, or is still connected."""
        try:
            if name not in self._connections:
                self._connections[name] = self._connect(name)
            with self._connections[name].cursor() as cursor:
                others, size, *changed = _changes(cursor)
                _, least, *unchanged = self._unchanged
                if others or changed != unchanged or size > least + _MOST_GROWN:
                    return False
                cursor.execute(self._emptying)
        except psycopg2.Error:  # a test has ended the connection, or has renamed a column
            return False
        return True

    def _drop(self, name: str) -> None:
        if name in self._connections:
            self._connections.pop(name).close()
        self.server.drop_database(name)

    def _connect(self, name: str) -> Any:
        address = make_url(self.server.url).set(drivername="postgresql", database=name)
        connection = psycopg2.connect(address.render_as_string(hide_password=False))
        connection.autocommit = True
        return connection


def _changes(cursor: Any) -> tuple[Any, ...]:
    """Return who else is there and what is set, the bytes, and what tells all other changes."""
    catalogs = ", ".join(_CATALOG.format(name, key, _OF_USERS) for name, key in _CATALOGS.items())
    cursor.execute(_CHANGES.format(catalogs=catalogs))
    found: tuple[Any, ...] = cursor.fetchone()
    return found


def _emptying(cursor: Any) -> str:
    """Return the statements that give a database the rows and the numbers that this one has."""
    cursor.execute(_TABLES)
    tables = [sql.Identifier(name) for (name,) in cursor.fetchall()]
    parts: list[sql.Composable] = [sql.SQL("SET session_replication_role = replica")]
    parts += [sql.SQL("DELETE FROM {}").format(table) for table in tables]
    for table in tables:
        cursor.execute(sql.SQL("SELECT json_agg(it)::text FROM {} AS it").format(table))
        [rows] = cursor.fetchone()
        if rows is not None:
            parts.append(sql.SQL(_INSERT).format(table, sql.Literal(rows)))
    cursor.execute("SELECT sequencename, start_value, last_value FROM pg_sequences")
    for name, start, last in cursor.fetchall():
        value = (sql.Literal(name), sql.Literal(last or start), sql.Literal(last is not None))
        parts.append(sql.SQL("SELECT setval(quote_ident({}), {}, {})").format(*value))
    return str(sql.SQL("; ").join(parts).as_string(cursor))
