"""Bring a database to this release's schema, and tell whether it is there."""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from headway.db import engine as engines
from headway.domain.errors import DatabaseError

_SCRIPTS: Final = Path(__file__).parent / "migrations"
# Two migrations at once would both find nothing to start from.
_ONE_AT_A_TIME: Final = text("SELECT pg_advisory_xact_lock(4841445741593)")


def upgrade(url: str) -> str:
    """Migrate the database at `url` to the newest revision and return that revision."""
    engine = engines.connect(url, name="headway migrate")
    try:
        with _connection(engine) as conn:
            conn.execute(text("SET LOCAL statement_timeout = 0"))
            conn.execute(text("SET LOCAL lock_timeout = '60s'"))
            conn.execute(_ONE_AT_A_TIME)
            _refuse_newer(_current(conn))
            config = _config()
            config.attributes["connection"] = conn
            command.upgrade(config, "head")
            conn.commit()
    finally:
        engine.dispose()
    return head()


def check(engine: Engine) -> str:
    """Return the revision when the database has this release's schema; else DatabaseError."""
    with _connection(engine) as conn:
        current = _current(conn)
    if current is None:
        raise DatabaseError("The database has no Headway tables yet; run `headway db migrate`.")
    _refuse_newer(current)
    if current != head():
        raise DatabaseError(
            f"The database has schema {current}, this Headway needs {head()}; "
            "run `headway db migrate`."
        )
    return current


def head() -> str:
    """Return the revision that this release needs."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    assert revision is not None
    return revision


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


def _connection(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except OperationalError as error:
        where = engine.url.render_as_string(hide_password=True)
        raise DatabaseError(
            f"The database at {where} does not answer: {str(error.orig).strip()}\n"
            "Start it, or set HEADWAY_DATABASE_URL to the one to use."
        ) from error


def _current(conn: Connection) -> str | None:
    return MigrationContext.configure(conn).get_current_revision()


def _refuse_newer(current: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if current is not None and current not in known:
        raise DatabaseError(
            f"The database has schema {current}, which is newer than this Headway ({head()}); "
            "install the Headway that migrated it, or a newer one."
        )
