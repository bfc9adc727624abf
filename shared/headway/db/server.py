"""SQL on the server itself: its version, its settings, its clock."""

from datetime import datetime

from sqlalchemy import Connection, text

VERSION = text("SELECT current_setting('server_version_num')::int")

SETTING = text("SELECT current_setting(:name)")

CONNECTIONS = text("""
    SELECT count(*) AS taken, current_setting('max_connections')::int AS most
      FROM pg_stat_activity WHERE backend_type = 'client backend'
""")

NOW = text("SELECT clock_timestamp()")


def version(conn: Connection) -> int:
    """Return the version as the server counts it: 150004 is 15.4."""
    return int(conn.execute(VERSION).scalar_one())


def setting(conn: Connection, name: str) -> str:
    """Return a setting as it is in this session."""
    return str(conn.execute(SETTING, {"name": name}).scalar_one())


def connections(conn: Connection) -> tuple[int, int]:
    """Return how many connections are taken, and how many there may be."""
    row = conn.execute(CONNECTIONS).one()
    return int(row.taken), int(row.most)


def now(conn: Connection) -> datetime:
    """Return what the database's clock shows at this moment."""
    found: datetime = conn.execute(NOW).scalar_one()
    return found
