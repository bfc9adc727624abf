"""SQL on schedulers: whether one is alone, and since when there is one without a break."""

from sqlalchemy import Connection, text

from headway.db.core import processes
from headway.db.core.processes import Identity
from headway.domain.errors import ConflictError

# One looks at a time: of two that start at once, one finds the other.  The row changes nothing
# but is locked, which no other role may do: any role can take an advisory lock.
ONE_AT_A_TIME = text("""
    INSERT INTO scheduler_uptime AS uptime (since, seen_at)
    VALUES (clock_timestamp(), clock_timestamp())
        ON CONFLICT (singleton) DO UPDATE SET seen_at = uptime.seen_at
""")


DECLARE = text("UPDATE process SET exclusive = :alone WHERE id = :me")


OTHERS = text("""
    SELECT id, hostname, pid, exclusive
      FROM process
     WHERE kind = 'scheduler' AND ended_at IS NULL AND id <> :me AND (exclusive OR :alone)
     ORDER BY id
     LIMIT 1
""")


def join(conn: Connection, me: Identity, *, alone: bool) -> ConflictError | None:
    """Join the schedulers, as the only one if `alone`.

    When another one is in the way, leave again and return the error to raise once this
    transaction is committed.
    """
    conn.execute(ONE_AT_A_TIME)
    other = conn.execute(OTHERS, {"me": me.id, "alone": alone}).one_or_none()
    if other is None:
        conn.execute(DECLARE, {"me": me.id, "alone": alone})
        return None
    processes.leave(conn, me)
    whose = "This scheduler runs" if alone else "The other one runs"
    return ConflictError(
        f"Another scheduler is running (process {other.id}, pid {other.pid} on {other.hostname}). "
        f"{whose} with use_row_level_locking = false, which allows one alone: stop the other one, "
        "or set it to true."
    )


# On the database's clock alone, as all that schedulers compare with each other.
EXTEND_UPTIME = text("""
    INSERT INTO scheduler_uptime AS uptime (since, seen_at)
    VALUES (clock_timestamp(), clock_timestamp())
        ON CONFLICT (singleton) DO UPDATE
       SET since = CASE WHEN uptime.seen_at
                             < excluded.seen_at - make_interval(secs => :threshold)
                        THEN excluded.since ELSE uptime.since END,
           seen_at = greatest(uptime.seen_at, excluded.seen_at)
""")


def extend_uptime(conn: Connection, threshold: float) -> None:
    """Extend the uptime; it begins anew when there was no scheduler for so many seconds.

    What falls due before it begins was missed.  Shorter breaks miss nothing, such as a restart.
    """
    conn.execute(EXTEND_UPTIME, {"threshold": threshold})
