"""What all tables hold, to compare it before and after requests."""

from sqlalchemy import text
from tests.integration.api.conftest import Api


def content(api: Api) -> dict[str, str]:
    """Return a digest of the rows of every table but of those that authentication moves on."""
    moved = {"api_token", "api_session", "api_login_limit"}
    rows = "md5(coalesce(string_agg(md5(it::text), '' ORDER BY it::text), ''))"
    with api.engine.connect() as conn:
        tables = conn.scalars(
            text(
                "SELECT relname FROM pg_class WHERE relkind = 'r' "
                "AND relnamespace = current_schema()::regnamespace"
            )
        )
        return {
            table: conn.scalar(text(f"SELECT {rows} FROM {table} AS it"))
            for table in sorted(tables)
            if table not in moved
        }
