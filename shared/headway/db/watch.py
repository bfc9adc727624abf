"""SQL on the watch: since when there is a scheduler without a break."""

from sqlalchemy import Connection, text

# On the database's clock alone, as all that schedulers compare with each other.
KEEP = text("""
    INSERT INTO schedule_watch AS watch (since, seen_at)
    VALUES (clock_timestamp(), clock_timestamp())
        ON CONFLICT (one) DO UPDATE
       SET since = CASE WHEN watch.seen_at
                             < excluded.seen_at - make_interval(secs => :threshold)
                        THEN excluded.since ELSE watch.since END,
           seen_at = greatest(watch.seen_at, excluded.seen_at)
""")


def keep(conn: Connection, threshold: float) -> None:
    """Say that there is a scheduler; the watch begins anew when there was none for so many seconds.

    What falls due before it begins was missed.  Shorter breaks miss nothing, such as a restart.
    """
    conn.execute(KEEP, {"threshold": threshold})
