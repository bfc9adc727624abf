"""SQL on the server itself: its version, its settings, its clock."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

VERSION = text("SELECT current_setting('server_version_num')::int")

SETTING = text("""
    SELECT setting, reset_val, source, quote_ident(current_database()) AS database,
           quote_ident(session_user) AS role
      FROM pg_settings WHERE name = :name
""")

CONNECTIONS = text("""
    SELECT count(*) AS in_use, current_setting('max_connections')::int AS most
      FROM pg_stat_activity WHERE backend_type = 'client backend'
""")

NOW = text("SELECT clock_timestamp()")


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of this session: its value, the one that sessions begin with, what has set it.

    `database` and `role` are those of the session, quoted for a statement.
    """

    setting: str
    reset_val: str
    source: str
    database: str
    role: str


def version(conn: Connection) -> int:
    """Return the version as the server counts it: 150004 is 15.4."""
    return int(conn.execute(VERSION).scalar_one())


def setting(conn: Connection, name: str) -> Setting:
    """Return a setting as it is in this session."""
    return Setting(**conn.execute(SETTING, {"name": name}).mappings().one())


def connections(conn: Connection) -> tuple[int, int]:
    """Return how many connections are taken, and how many there may be."""
    row = conn.execute(CONNECTIONS).one()
    return int(row.in_use), int(row.most)


def now(conn: Connection) -> datetime:
    """Return what the database's clock shows at this moment."""
    found: datetime = conn.execute(NOW).scalar_one()
    return found
