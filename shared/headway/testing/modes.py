"""The modes of a test session: how all processes of the tests reach the database."""

from collections.abc import Mapping, Sequence

from headway.runtime import settings


def pooled() -> bool:
    """Whether every database is reached through PgBouncer (TEST_PGBOUNCER=1)."""
    return _given("TEST_PGBOUNCER") in ("1", "on")


def variables() -> Mapping[str, str]:
    """Return the settings of all processes in this session."""
    found = {}
    if pooled():
        found["HEADWAY_DATABASE_POOLER"] = "true"
    if _given("TEST_NOTIFY") in ("0", "off"):
        found["HEADWAY_DATABASE_NOTIFY"] = "false"
    return found


def standalone() -> Sequence[str]:
    """Return what Python is to run for `headway`: TEST_HEADWAY, if the session has another one."""
    other = _given("TEST_HEADWAY")
    return [other] if other else ["-m", "headway.cli"]


def _given(name: str) -> str:
    return settings.environment().get(name, "")
