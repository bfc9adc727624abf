"""All checks, in their order."""

from collections.abc import Callable, Iterator
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from headway.db.core.engine import is_transient
from headway.doctor import clocks, database, disk, rights, sandbox, server, settings, spark, state
from headway.doctor.finding import Check, DatabaseCheck, Examined, Finding
from headway.domain.errors import HeadwayError
from headway.runtime.daemon.loop import cause_of

HERE: Final[tuple[Check, ...]] = (
    *settings.CHECKS,
    *state.CHECKS,
    *disk.CHECKS,
)
"""What can be looked at without the database."""

WITH_FILES: Final[tuple[Check, ...]] = (*sandbox.CHECKS, *spark.CHECKS)
"""What is tried out with files; left out if none can be written."""

IN_DATABASE: Final[tuple[DatabaseCheck, ...]] = (
    *database.CHECKS,
    *server.CHECKS,
    *rights.CHECKS,
    *clocks.CHECKS,
)
"""What is asked of the database; left out if it does not answer."""

_REFUSED: Final = "42501"


def examine(subject: Examined, connect: Callable[[], Engine]) -> Iterator[Finding]:
    """Yield the findings of all checks; `connect` returns an engine for the database.

    A database that does not answer is a finding, and so is a check that this role may not make.
    """
    yield from _ask_database(subject, connect)
    for check in (*HERE, *(WITH_FILES if disk.temporary_folder() else ())):
        yield from check(subject)


def _ask_database(subject: Examined, connect: Callable[[], Engine]) -> Iterator[Finding]:
    try:
        engine = connect()
    except HeadwayError as error:
        yield database.unknown(error)
        return
    try:
        yield database.answering(engine)
        for check in IN_DATABASE:
            yield from _asked(subject, engine, check)
    except (DBAPIError, HeadwayError) as error:
        yield database.silent(engine, error)
    finally:
        engine.dispose()


def _asked(subject: Examined, engine: Engine, check: DatabaseCheck) -> list[Finding]:
    try:
        with engine.begin() as conn:
            return list(check(subject, conn))
    except DBAPIError as error:
        if is_transient(error):
            raise
        return [_not_made(check, engine, error)]


def _not_made(check: DatabaseCheck, engine: Engine, error: DBAPIError) -> Finding:
    """Return what to say of a check that failed: the role may not look, or there is no table."""
    refused = getattr(error.orig, "pgcode", None) == _REFUSED
    return Finding(
        check.__name__.strip("_"),
        ok=False,
        found=f"Not known: {cause_of(error).partition(chr(10))[0]}",
        wanted="a database that this check can read",
        remedy=f"Let HEADWAY_DATABASE_URL name a role that may look: headway_user, or the owner of "
        f"the tables instead of {engine.url.username}."
        if refused
        else "headway db migrate",
    )
