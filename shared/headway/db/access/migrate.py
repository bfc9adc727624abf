"""Bring a database to this release's schema, and tell whether it is there."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from headway.db.access.holdups import Holdups
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.domain.errors import DatabaseError, NewerSchemaError
from headway.domain.hints import Action, Hint, act, hint

SCRIPTS: Final = Path(__file__).parents[1] / "migrations"

# Two migrations at once would both find nothing to start from.  Whoever may log in can take an
# advisory lock; this one needs more than the right to read, which is all that others have here.
_ONE_AT_A_TIME: Final = text("LOCK TABLE alembic_version IN SHARE ROW EXCLUSIVE MODE")

# As Alembic makes the table; Alembic finds it and leaves it as it is.
_MAKE_VERSION_TABLE: Final = text("""
    CREATE TABLE alembic_version (
        version_num varchar(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY
    )
""")

LOCK_TIMEOUT: Final = "60s"
"""How long a migration waits for each lock."""

_IS_MIGRATED: Final = text("SELECT to_regclass('alembic_version') IS NOT NULL")
_CURRENT: Final = text("SELECT version_num FROM alembic_version")

_REFUSED: Final = "42501"
_EXISTS: Final = frozenset({"42P07", "42710", "23505"})
_NO_LOCK: Final = {
    "55P03": "it has waited {timeout} for a lock that another session holds",
    "40P01": "it and another session have waited for each other's locks",
}
_MIGRATE_AS_OWNER: Final = hint("Migrate as the owner of the database's tables.")
_MIGRATE: Final = hint("Run ", act(Action.MIGRATE_DATABASE), ".")
_GRANT_FIRST: Final = hint(
    "Run ",
    act(Action.MIGRATE_DATABASE),
    " as the owner of the tables: it gives each role what it needs.",
)


def upgrade(url: str, passwords: Mapping[Login, str] | None = None) -> str:
    """Migrate the database at `url` to the newest revision and return that revision.

    The login roles, their grants and the guards of states are put in place as well,
    all in one transaction; roles that are given a password get it.
    """
    # Here and not above: every process checks the schema, and few migrate it.
    from alembic import command
    from alembic.config import Config

    engine = engines.connect(url, name="headway migrate")
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    try:
        with (
            _connection(engine) as conn,
            _rights_needed(engine, _MIGRATE_AS_OWNER),
            _holders_named(engine, conn),
        ):
            conn.execute(text("SET LOCAL statement_timeout = 0"))
            conn.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))
            take_turn(conn)
            _refuse_newer(current(conn))
            config.attributes["connection"] = conn
            command.upgrade(config, "head")
            _protect(conn, passwords or {})
            conn.commit()
    finally:
        engine.dispose()
    return head()


def contact(engine: Engine) -> None:
    """Connect, so that a connection is there; DatabaseError if the database does not answer."""
    _connection(engine).close()


def take_turn(conn: Connection) -> None:
    """Keep all other migrations off until this transaction ends."""
    if not conn.scalar(_IS_MIGRATED):
        try:
            with conn.begin_nested():
                conn.execute(_MAKE_VERSION_TABLE)
        except DBAPIError as error:
            if getattr(error.orig, "pgcode", None) not in _EXISTS:  # another one was quicker
                raise
    conn.execute(_ONE_AT_A_TIME)


def check(engine: Engine) -> str:
    """Return the revision when the database has this release's schema; else DatabaseError."""
    with _connection(engine) as conn, _rights_needed(engine, _GRANT_FIRST):
        found = current(conn)
    if found is None:
        raise DatabaseError("The database has no Headway tables yet.", hint=_MIGRATE)
    _refuse_newer(found)
    if found != head():
        raise DatabaseError(
            f"The database has schema {found}, this Headway needs {head()}.", hint=_MIGRATE
        )
    return found


def current(conn: Connection) -> str | None:
    """Return the revision that the database has; None if it has no tables of Headway."""
    if not conn.scalar(_IS_MIGRATED):
        return None
    revision: str | None = conn.scalar(_CURRENT)
    return revision


def head() -> str:
    """Return the revision that this release needs."""
    return revisions()[-1]


def revisions() -> list[str]:
    """Return the revisions that this release knows, oldest first, by the names of the scripts."""
    return sorted(path.name.partition("_")[0] for path in (SCRIPTS / "versions").glob("[0-9]*.py"))


def _protect(conn: Connection, passwords: Mapping[Login, str]) -> None:
    """Put in place what Python says of roles, states and grants; it has no revisions."""
    from headway.db.access import delivery, expiry_functions, grants, guards, roles, row_checks
    from headway.db.core import identity

    logins = roles.create(conn)
    roles.configure(conn, logins)
    roles.set_passwords(conn, {login: passwords[login] for login in logins if login in passwords})
    identity.install(conn)
    guards.install(conn)
    delivery.install(conn)
    expiry_functions.install(conn)
    row_checks.install(conn, logins)
    grants.install(conn, logins)


@contextmanager
def _rights_needed(engine: Engine, advice: Hint) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if getattr(error.orig, "pgcode", None) != _REFUSED:
            raise
        raise DatabaseError(
            f"The database refuses its user {engine.url.username}: {str(error.orig).strip()}.",
            hint=advice,
        ) from error


@contextmanager
def _holders_named(engine: Engine, conn: Connection) -> Iterator[None]:
    with Holdups.watched(engine, conn) as holdups:
        try:
            yield
        except DBAPIError as error:
            why = _NO_LOCK.get(getattr(error.orig, "pgcode", None) or "")
            if why is None:
                raise
            sessions = "\n  ".join(holdups.last or ("a session that is gone",))
            raise DatabaseError(
                f"The migration has changed nothing: {why.format(timeout=LOCK_TIMEOUT)}.\n"
                f"It was held up by\n  {sessions}.\n"
                "End what holds it up, as a superuser, or wait for its end; then migrate again."
            ) from error


def _connection(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except OperationalError as error:
        where = engine.url.render_as_string(hide_password=True)
        raise DatabaseError(
            f"The database at {where} does not answer: {str(error.orig).strip()}\n"
            "Start it, or set HEADWAY_DATABASE_URL to the one to use."
        ) from error


def _refuse_newer(found: str | None) -> None:
    if found is not None and found not in revisions():
        raise NewerSchemaError(
            f"The database has schema {found}, which is newer than this Headway ({head()}); "
            "install the Headway that migrated it, or a newer one."
        )
