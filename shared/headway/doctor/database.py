"""Checks of the database: whether it answers, the schema, the roles."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Engine

from headway.db.access import migrate, roles
from headway.db.access.logins import Login
from headway.doctor.finding import DatabaseCheck, Examined, Finding, judged
from headway.domain.errors import HeadwayError, ReplicaError
from headway.runtime.daemon.loop import cause_of

_MIGRATE: Final = "headway db migrate"
_ANSWERS: Final = "a Postgres that answers, and is no replica"


def unknown(error: HeadwayError) -> Finding:
    """Return the finding of an address that is missing or malformed."""
    first, _, rest = str(error).partition(". ")
    return Finding("database", False, first, _ANSWERS, rest or "Set HEADWAY_DATABASE_URL.")


def silent(engine: Engine, error: Exception) -> Finding:
    """Return the finding of a database that does not answer, or refuses this login."""
    remedy = (
        "Let HEADWAY_DATABASE_URL name the primary."
        if isinstance(error, ReplicaError)
        else "Start the database, or let HEADWAY_DATABASE_URL name one that answers and a role "
        "that may log in."
    )
    found = f"{_where(engine)}: {' '.join(cause_of(error).split())}"
    return Finding("database", False, found, _ANSWERS, remedy)


def answering(engine: Engine) -> Finding:
    """Return the finding of a database that answers; raise its error if it does not."""
    with engine.connect() as conn:
        role = conn.exec_driver_sql("SELECT session_user").scalar_one()
    return Finding("database", True, f"{_where(engine)} answers {role}", _ANSWERS)


def schema(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Compare the schema with that of this release."""
    current, wanted = migrate.current(conn), migrate.head()
    remedy = None
    if current is None or current in migrate.revisions()[:-1]:
        remedy = f"{_MIGRATE} (as the owner of the tables)"
    elif current != wanted:
        remedy = "Install the Headway that migrated the database, or a newer one."
    yield judged("schema", current or "no tables of Headway", wanted, remedy)


def service_roles(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Tell which login roles are absent, cannot log in, or may do more than they should."""
    for status in roles.statuses(conn):
        if (remedy := _role_remedy(status)) is not None:
            found = _role_found(status)
            wanted = f"may log in, and no more, for: {roles.PURPOSES[status.login]}"
            yield Finding(f"role {status.login}", False, found, wanted, remedy)
    if all(_role_remedy(status) is None for status in roles.statuses(conn)):
        yield Finding("roles", True, ", ".join(Login), "a role for each service, and no more")


def _role_found(status: roles.RoleStatus) -> str:
    if not status.present:
        return "absent"
    return "may do more than it should" if status.powerful else "may not log in"


def _role_remedy(status: roles.RoleStatus) -> str | None:
    role = status.login
    if not status.present:
        return f"CREATE ROLE {role} LOGIN; then {_MIGRATE}"
    if status.powerful:
        return (
            f"ALTER ROLE {role} NOSUPERUSER NOBYPASSRLS NOREPLICATION NOCREATEROLE NOCREATEDB; "
            "(as a superuser)"
        )
    return None if status.may_log_in else f"ALTER ROLE {role} LOGIN;"


def _where(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)


CHECKS: Final[tuple[DatabaseCheck, ...]] = (schema, service_roles)
