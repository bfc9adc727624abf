"""Checks of the Postgres server: its version, its settings, its connections."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection

from headway.db.core import server
from headway.db.core.engine import PLANS
from headway.doctor.finding import DatabaseCheck, Examined, Finding, judged

OLDEST: Final = 15
"""The oldest major version of Postgres that Headway is tested with."""

_FULL: Final = 0.9

_DURABLE: Final = {
    "fsync": ("on",),
    "full_page_writes": ("on",),
    "synchronous_commit": ("on", "remote_apply", "remote_write", "local"),
}
"""The values by which a committed outcome survives a crash of the machine."""

_BY_SOURCE: Final = {
    "command line": "Start the server without -c {name}={it.setting}.",
    "client": "Take {name} out of PGOPTIONS and of HEADWAY_DATABASE_URL.",
    "database": "ALTER DATABASE {it.database} RESET {name};",
    "user": "ALTER ROLE {it.role} RESET {name};",
    "database user": "ALTER ROLE {it.role} IN DATABASE {it.database} RESET {name};",
}
"""How to change a setting, by what has set it."""

_IN_FILES: Final = "ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf(); (as a superuser)"


def version(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Look at the version of Postgres."""
    found = server.version(conn)
    old = found < OLDEST * 10_000
    yield judged(
        "server version",
        f"PostgreSQL {found // 10_000}.{found % 10_000}",
        f"PostgreSQL {OLDEST} or newer",
        f"Upgrade the server to PostgreSQL {OLDEST} or newer." if old else None,
    )


def durability(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Look at the settings by which a committed outcome survives a crash of the machine."""
    for name, wanted in _DURABLE.items():
        it = server.setting(conn, name)
        remedy = _BY_SOURCE.get(it.source, _IN_FILES).format(name=name, it=it)
        careless = it.setting not in wanted
        yield judged(
            f"server {name}", it.setting, " or ".join(wanted), remedy if careless else None
        )


def planning(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Look at the settings of plans, which each connection of Headway makes for itself."""
    for name, wanted in PLANS.items():
        it = server.setting(conn, name)
        found = it.setting
        if it.reset_val != it.setting:
            found += f" (the server would have it {it.reset_val})"
        lost = "Set HEADWAY_DATABASE_POOLER=true: a pooler drops the settings of connections."
        yield judged(f"server {name}", found, wanted, lost if it.setting != wanted else None)


def connections(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Look at how many of the server's connections are taken."""
    in_use, most = server.connections(conn)
    full = in_use > _FULL * most
    yield judged(
        "server connections",
        f"{in_use} of {most} are taken",
        f"at most {_FULL:.0%} are taken",
        f"ALTER SYSTEM SET max_connections = {2 * most}; (as a superuser), then restart the server"
        if full
        else None,
    )


CHECKS: Final[tuple[DatabaseCheck, ...]] = (version, durability, planning, connections)
