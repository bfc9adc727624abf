"""Databases of an earlier revision of the schema, as a migration finds them."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, TextClause, inspect, text

from headway.db.access import guards, migrate


def put(empty: Engine, revision: str, *rows: TextClause) -> None:
    """Make the tables of that revision, with these rows, in an empty database."""
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    with empty.begin() as conn:
        config.attributes["connection"] = conn
        command.upgrade(config, revision)
        there = inspect(conn).get_table_names()
        for guard in guards.triggers():
            if guard.table in there:
                guards.put_in_place(conn, guard)
    with empty.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in rows:
            conn.execute(statement)
