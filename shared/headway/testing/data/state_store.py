"""What task instances keep: written and looked at in tests."""

from datetime import timedelta

from sqlalchemy import Engine, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import state_store
from headway.domain.arguments import JsonValue

_KEPT = text("""
    SELECT key, value, expires_at - written_at AS lasts
      FROM task_state_store
     ORDER BY task_id, map_index, key
""")

_EXPIRE = text("UPDATE task_state_store SET expires_at = now() - interval '1 s' WHERE key = :key")


def put(
    engine: Engine,
    key: AttemptKey,
    name: str,
    value: JsonValue,
    retention: timedelta | None = None,
) -> bool:
    """Keep a value, as the attempt; tell whether it could."""
    with engine.begin() as conn:
        return state_store.put(conn, key, name, value, retention)


def kept(engine: Engine) -> list[tuple[str, JsonValue, timedelta | None]]:
    """Return all that is kept: key, value and for how long from when it was written."""
    with engine.connect() as conn:
        return [(row.key, row.value, row.lasts) for row in conn.execute(_KEPT)]


def make_expire(engine: Engine, name: str) -> None:
    """Have what is kept under that key expire a second ago."""
    with engine.begin() as conn:
        conn.execute(_EXPIRE, {"key": name})
