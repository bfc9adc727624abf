"""Bring a database to this release's schema, and tell whether it is there."""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from headway.db import engine as engines
from headway.domain.errors import DatabaseError

_SCRIPTS: Final = Path(__file__).parent / "migrations"

# Two migrations at once would both find nothing to start from.
_ONE_AT_A_TIME: Final = text("SELECT pg_advisory_xact_lock(4841445741593)")

_IS_MIGRATED: Final = text("SELECT to_regclass('alembic_version') IS NOT NULL")
_CURRENT: Final = text("SELECT version_num FROM alembic_version")


def upgrade(url: str) -> str:
    """Migrate the database at `url` to the newest revision and return that revision."""
    # Here and not above: every process checks the schema, and few migrate it.
    from alembic import command
    from alembic.config import Config

    engine = engines.connect(url, name="headway migrate")
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    try:
        with _connection(engine) as conn:
            conn.execute(text("SET LOCAL statement_timeout = 0"))
            conn.execute(text("SET LOCAL lock_timeout = '60s'"))
            conn.execute(_ONE_AT_A_TIME)
            _refuse_newer(_current(conn))
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
    return revisions()[-1]


def revisions() -> list[str]:
    """Return the revisions that this release knows, oldest first, by the names of the scripts."""
    return sorted(path.name.partition("_")[0] for path in (_SCRIPTS / "versions").glob("[0-9]*.py"))


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
    if not conn.scalar(_IS_MIGRATED):
        return None
    current: str | None = conn.scalar(_CURRENT)
    return current


def _refuse_newer(current: str | None) -> None:
    if current is not None and current not in revisions():
        raise DatabaseError(
            f"The database has schema {current}, which is newer than this Headway ({head()}); "
            "install the Headway that migrated it, or a newer one."
        )
