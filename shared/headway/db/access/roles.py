"""The login roles of the database: one for each service, one for users, one that only reads.

Roles belong to the whole server.  Two Headway databases on one server share them,
and their migrations may create and change them at the same time.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg2.extensions import encrypt_password
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from headway.db.access.logins import Login
from headway.db.core.engine import ISOLATION, TIMEOUTS

log = logging.getLogger(__name__)


PURPOSES: Final[Mapping[Login, str]] = {
    Login.PARSER: "headway parser",
    Login.SCHEDULER: "headway scheduler",
    Login.WORKER: "headway worker",
    Login.USER: "all other commands: what users look at and do",
    Login.API: "the API, and commands of accounts and tokens",
    Login.READONLY: "people and dashboards that only look",
}

_EVERY: Final = {**TIMEOUTS, "default_transaction_isolation": ISOLATION, "TimeZone": "UTC"}

SETTINGS: Final[Mapping[Login, Mapping[str, str]]] = {
    **dict.fromkeys(Login, _EVERY),
    Login.READONLY: {**_EVERY, "default_transaction_read_only": "on"},
}
"""What a session of each role begins with, whichever program opens it."""

PRESENT = text("SELECT rolname FROM pg_roles WHERE rolname = ANY (:names)")

MAY_CREATE = text("""
    SELECT rolname, rolsuper OR rolcreaterole AS may FROM pg_roles WHERE rolname = current_user
""")

HAVE = text("""
    SELECT role.rolname AS login, setting.setconfig AS settings
      FROM pg_roles AS role
      JOIN pg_db_role_setting AS setting ON setting.setrole = role.oid
      JOIN pg_database AS here ON here.oid = setting.setdatabase
     WHERE here.datname = current_database() AND role.rolname = ANY (:names)
""")

DATABASE = text("SELECT quote_ident(current_database())")

# Only a superuser may see whether a role has a password.
STATUSES = text("""
    SELECT name AS login, role.rolname IS NOT NULL AS present,
           coalesce(role.rolcanlogin, false) AS may_log_in,
           coalesce(role.rolsuper OR role.rolbypassrls OR role.rolreplication
                    OR role.rolcreaterole OR role.rolcreatedb, false) AS powerful,
           has_table_privilege('pg_authid', 'SELECT') AS password_known
      FROM unnest(CAST(:names AS text[])) WITH ORDINALITY AS wanted (name, place)
      LEFT JOIN pg_roles AS role ON role.rolname = wanted.name
     ORDER BY place
""")

WITH_PASSWORD = text("""
    SELECT rolname FROM pg_authid WHERE rolname = ANY (:names) AND rolpassword IS NOT NULL
""")

_REFUSED: Final = "42501"
_EXISTS: Final = frozenset({"42710", "23505"})
_CHANGED_BY_ANOTHER: Final = "XX000"
_TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """A role as the server has it; `has_password` is None where only a superuser may know."""

    login: Login
    present: bool
    may_log_in: bool
    powerful: bool
    has_password: bool | None


def present(conn: Connection) -> list[Login]:
    """Return the roles that the server has."""
    return sorted(Login(name) for name in conn.scalars(PRESENT, {"names": list(Login)}))


def create(conn: Connection) -> list[Login]:
    """Create the roles that are absent, if this user may; return those that are there then."""
    absent = sorted(set(Login) - set(present(conn)))
    if absent:
        me, may = conn.execute(MAY_CREATE).one()
        if may:
            for login in absent:
                _create(conn, login)
        else:
            log.warning("%s", _missing(me, absent))
    return present(conn)


def configure(conn: Connection, logins: Sequence[Login]) -> None:
    """Give the sessions of these roles their settings, in this database."""
    have = {row.login: set(row.settings) for row in conn.execute(HAVE, {"names": list(logins)})}
    database = conn.scalar(DATABASE)
    for login in logins:
        for name, value in SETTINGS[login].items():
            if f"{name}={value}" not in have.get(login, ()) and not _alter(
                conn, f"ALTER ROLE {login} IN DATABASE {database} SET {name} TO '{value}'"
            ):
                log.warning("%s", _unchanged(login, "settings"))
                break


def set_passwords(conn: Connection, passwords: Mapping[Login, str]) -> None:
    """Set these passwords; only what is made of one travels, so that no log can show it."""
    for login, password in passwords.items():
        verifier = encrypt_password(
            password, login, conn.connection.driver_connection, "scram-sha-256"
        )
        if not _alter(conn, f"ALTER ROLE {login} LOGIN PASSWORD '{verifier}'"):
            log.warning("%s", _unchanged(login, "password"))


def address(url: str, login: Login, password: str) -> str:
    """Return the address by which this role reaches the database at `url`."""
    own = make_url(url).set(username=login, password=password)
    return own.render_as_string(hide_password=False)


def statuses(conn: Connection) -> list[RoleStatus]:
    """Return how every role stands."""
    rows = conn.execute(STATUSES, {"names": list(Login)}).all()
    known = rows[0].password_known
    having = set(conn.scalars(WITH_PASSWORD, {"names": list(Login)})) if known else set()
    return [
        RoleStatus(
            Login(row.login),
            row.present,
            row.may_log_in,
            row.powerful,
            row.login in having if known else None,
        )
        for row in rows
    ]


def _create(conn: Connection, login: Login) -> None:
    try:
        with conn.begin_nested():
            _execute(conn, f"CREATE ROLE {login} LOGIN")
    except DBAPIError as error:
        if _code(error) not in _EXISTS:  # as it does when another migration was quicker
            raise


def _alter(conn: Connection, statement: str) -> bool:
    """Change a role; False when this user may not.  Another migration may change it just now."""
    for tries_left in reversed(range(_TRIES)):
        try:
            with conn.begin_nested():
                _execute(conn, statement)
            return True
        except DBAPIError as error:
            if _code(error) == _REFUSED:
                return False
            if _code(error) != _CHANGED_BY_ANOTHER or not tries_left:
                raise
    return False


def _execute(conn: Connection, statement: str) -> None:
    conn.exec_driver_sql(statement.replace("%", "%%"))


def _code(error: DBAPIError) -> str | None:
    code: str | None = getattr(error.orig, "pgcode", None)
    return code


def _missing(me: str, absent: Sequence[Login]) -> str:
    statements = " ".join(f"CREATE ROLE {login} LOGIN;" for login in absent)
    return (
        f"The database user {me} may not create roles, so {', '.join(absent)} do not exist and "
        "services can only log in as the owner of the tables, who may do everything. Have an "
        f"administrator of the server run `{statements}` and migrate again."
    )


def _unchanged(login: Login, what: str) -> str:
    return (
        f"The {what} of the role {login} could not be set: this database user may not alter it. "
        "Migrate as the one who created the role, or as a superuser."
    )
