"""SQL on tries to sign in: one row per account or address, which each try moves on."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, text

# A row that is not there cannot be locked.
ENTER = text("""
    INSERT INTO api_login_limit (subject, forgotten_at)
    SELECT subject, clock_timestamp() FROM unnest(CAST(:subjects AS text[])) AS subject
     ORDER BY subject
        ON CONFLICT (subject) DO NOTHING
""")

LOCK = text("""
    SELECT FROM api_login_limit
     WHERE subject = ANY (:subjects)
     ORDER BY subject
       FOR NO KEY UPDATE
""")

# After the lock, so that the clock has gone on while this transaction waited for it.
READ = text("""
    SELECT subject, extract(epoch FROM forgotten_at - clock_timestamp())::float8 AS ahead
      FROM api_login_limit
     WHERE subject = ANY (:subjects)
""")

MOVE = text("""
    UPDATE api_login_limit
       SET forgotten_at = greatest(forgotten_at, clock_timestamp())
                          + make_interval(secs => its.seconds)
      FROM unnest(CAST(:subjects AS text[]), CAST(:seconds AS float8[])) AS its (subject, seconds)
     WHERE api_login_limit.subject = its.subject
""")

DELETE_EXPIRED = text("""
    WITH expired AS MATERIALIZED (
        SELECT subject
          FROM api_login_limit
         WHERE forgotten_at < now()
         ORDER BY forgotten_at
         LIMIT :most
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM api_login_limit
     USING expired
     WHERE api_login_limit.subject = expired.subject
""")


def lock(conn: Connection, subjects: Sequence[str]) -> dict[str, float]:
    """Lock the tries of these subjects; return by how many seconds each row is ahead of now."""
    wanted = {"subjects": sorted(subjects)}
    conn.execute(ENTER, wanted)
    conn.execute(LOCK, wanted)
    return {row.subject: row.ahead for row in conn.execute(READ, wanted)}


def move(conn: Connection, seconds: Mapping[str, float]) -> None:
    """Move the row of each subject on by its seconds, or back by what is below zero."""
    conn.execute(MOVE, {"subjects": list(seconds), "seconds": list(seconds.values())})


def delete_expired(conn: Connection, most: int) -> int:
    """Delete at most so many rows whose tries are all forgotten, and return how many."""
    return conn.execute(DELETE_EXPIRED, {"most": most}).rowcount
