"""The modes of a test session: how all processes of the tests reach the database."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headway.runtime.settings import configuration

ADDRESSES: Final = "addresses"
"""The file in the home where that program leaves the address of each login, one a line."""

NICENESS: Final = "HEADWAY_WORKER_ATTEMPT_NICENESS"
"""Attempts do not stand back behind the other tests of a session, which would starve them."""

API_PORT: Final = "HEADWAY_API_PORT"
"""Each standalone of a session has an API at a free port: they start side by side."""

JAVA: Final = "TEST_JAVA_HOME"
"""The variable that names the Java of the session's machines, which have none on their PATH."""


POSTGRES: Final = "TEST_POSTGRES_DIRECTORY"
"""The variable that names a migrated database directory, with which stacks of services begin."""


def pooled() -> bool:
    """Whether every database is reached through PgBouncer (TEST_PGBOUNCER=1)."""
    return _given("TEST_PGBOUNCER") in ("1", "on")


def all_required() -> bool:
    """Whether a test whose program or module is missing fails instead of skipping."""
    return _given("TEST_REQUIRE") == "all"


def variables() -> Mapping[str, str]:
    """Return the settings of all processes in this session."""
    found = {NICENESS: "0", API_PORT: "0"}
    if pooled():
        found["HEADWAY_DATABASE_POOLER"] = "true"
    if _given("TEST_NOTIFY") in ("0", "off"):
        found["HEADWAY_DATABASE_NOTIFY"] = "false"
    if _given(JAVA):
        found["JAVA_HOME"] = _given(JAVA)
    return found


def standalone() -> str:
    """Return the program that Python is to run for `headway standalone`: TEST_HEADWAY."""
    return _given("TEST_HEADWAY")


def postgres_directory() -> Path | None:
    """Return the database directory to begin with, if the session has one."""
    return Path(_given(POSTGRES)) if _given(POSTGRES) else None


def _given(name: str) -> str:
    return configuration.environment().get(name, "")
