"""Checks of the Postgres server: its version, its settings, its connections."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection

from headway.db import server
from headway.doctor.finding import DatabaseCheck, Finding, Subject, judged

OLDEST: Final = 15
"""The oldest major version of Postgres that Headway is tested with."""

_FULL: Final = 0.9


def version(_subject: Subject, conn: Connection) -> Iterator[Finding]:
    """Look at the version of Postgres."""
    found = server.version(conn)
    old = found < OLDEST * 10_000
    yield judged(
        "server version",
        f"PostgreSQL {found // 10_000}.{found % 10_000}",
        f"PostgreSQL {OLDEST} or newer",
        f"Upgrade the server to PostgreSQL {OLDEST} or newer." if old else None,
    )


def durability(_subject: Subject, conn: Connection) -> Iterator[Finding]:
    """Look at the settings by which a committed outcome survives a crash of the machine."""
    for name in ("fsync", "full_page_writes"):
        found = server.setting(conn, name)
        remedy = f"ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf(); (as a superuser)"
        yield judged(f"server {name}", found, "on", None if found == "on" else remedy)


def connections(_subject: Subject, conn: Connection) -> Iterator[Finding]:
    """Look at how many of the server's connections are taken."""
    taken, most = server.connections(conn)
    full = taken > _FULL * most
    yield judged(
        "server connections",
        f"{taken} of {most} are taken",
        f"at most {_FULL:.0%} are taken",
        f"ALTER SYSTEM SET max_connections = {2 * most}; (as a superuser), then restart the server"
        if full
        else None,
    )


CHECKS: Final[tuple[DatabaseCheck, ...]] = (version, durability, connections)
