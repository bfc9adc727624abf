"""SQL on gathering what notifiers tell of into messages: one for a flood of the same kind."""

from sqlalchemy import Connection, text

ANY_NEW = text("SELECT EXISTS (SELECT FROM notified_event WHERE notification_id IS NULL)")

LOCK_NEW = text("""
    SELECT id
      FROM notified_event
     WHERE notification_id IS NULL
     ORDER BY id
     LIMIT :limit
       FOR NO KEY UPDATE SKIP LOCKED
""")

# Events of one run, notifier and kind join the message that no worker has taken yet.  Another
# scheduler may be making that one: the conflict waits for it.  The next message of the kind is
# sent no earlier than some time after the last.
GATHER = text("""
    WITH new AS (
        SELECT DISTINCT dag_run_id, notifier, event FROM notified_event WHERE id = ANY (:ids)
    ), message AS (
        INSERT INTO notification (dag_run_id, notifier, event, due_at)
        SELECT new.dag_run_id, new.notifier, new.event,
               greatest(now() + make_interval(secs => :gather),
                        (SELECT max(due_at) FROM notification AS last
                          WHERE last.dag_run_id = new.dag_run_id AND last.event = new.event
                            AND last.notifier = new.notifier AND NOT last.collecting)
                        + make_interval(secs => :spacing))
          FROM new
         ORDER BY new.dag_run_id, new.notifier, new.event
            ON CONFLICT (dag_run_id, notifier, event) WHERE collecting
            DO UPDATE SET due_at = notification.due_at
     RETURNING id, dag_run_id, notifier, event
    )
    UPDATE notified_event AS it
       SET notification_id = message.id
      FROM message
     WHERE it.id = ANY (:ids) AND it.dag_run_id = message.dag_run_id
       AND it.notifier = message.notifier AND it.event = message.event
""")

OLDEST_WAIT = text("""
    SELECT extract(epoch FROM now() - min(created_at))
      FROM (SELECT created_at FROM notification WHERE ended_at IS NULL
             UNION ALL
            SELECT created_at FROM notified_event WHERE notification_id IS NULL) AS waiting
""")


def any_new(conn: Connection) -> bool:
    """Return whether something was entered that no message tells of."""
    return bool(conn.scalar(ANY_NEW))


def gather(conn: Connection, limit: int, seconds: float, spacing: float) -> int:
    """Put up to `limit` new events into messages, due in so many seconds; return how many."""
    ids = list(conn.scalars(LOCK_NEW, {"limit": limit}))
    if ids:
        conn.execute(GATHER, {"ids": ids, "gather": seconds, "spacing": spacing})
    return len(ids)


def oldest_wait(conn: Connection) -> float:
    """Return for how many seconds the oldest message has not been sent, nor given up."""
    return max(float(conn.scalar(OLDEST_WAIT) or 0.0), 0.0)
