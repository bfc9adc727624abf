"""SQL on claimed notifications: by a token and for a while, as callbacks are; then reported.

One that could not be sent is sent again, after ever longer waits, until it has been tried often
enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, text

from headway.db.core.processes import Identity
from headway.db.execution.callback_claims import CallbackKey, CallbackReport, actor_of, sources_of
from headway.domain.arguments import JsonValue
from headway.domain.dag.notifiers import MOST_SENDS, MOST_TOLD, NotifyEvent, wait_after
from headway.domain.states import CallbackState

# Whether it may be taken is judged on the locked row: another worker may have it by now.
CLAIM = text("""
    WITH due AS MATERIALIZED (
        SELECT id, state
          FROM notification
         WHERE ended_at IS NULL AND due_at <= now()
           AND (state = 'queued' OR claimed_until < now()) AND tries < :most
         ORDER BY due_at, id
         LIMIT :limit
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE notification AS it
       SET state = 'running', collecting = false, tries = tries + 1, token = gen_random_uuid(),
           process_id = :process, started_at = clock_timestamp(),
           claimed_until = clock_timestamp() + make_interval(secs => :seconds)
      FROM due
     WHERE it.id = due.id AND it.state = due.state
 RETURNING it.id
""")

# In the statement after the claim: since then no further event joins.
FACTS = text("""
    SELECT it.id, it.token, it.key, it.tries, it.event, it.dag_run_id, run.dag_id, run.run_id,
           run.interval_start, run.interval_end, notifier.definition,
           (SELECT count(*) FROM notified_event WHERE notification_id = it.id) AS events,
           (SELECT json_agg(told ORDER BY told.id)
              FROM (SELECT id, task_id, map_index, attempt, reason, cause, created_at
                      FROM notified_event
                     WHERE notification_id = it.id
                     ORDER BY id
                     LIMIT :told) AS told) AS told
      FROM notification AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN notifier ON notifier.hash = it.notifier
     WHERE it.id = ANY (:ids)
     ORDER BY it.id
""")

GIVE_UP = text("""
    WITH spent AS MATERIALIZED (
        SELECT id FROM notification
         WHERE ended_at IS NULL AND state = 'running' AND claimed_until < now() AND tries >= :most
         ORDER BY id
         LIMIT :limit
           FOR NO KEY UPDATE SKIP LOCKED
    ), ended AS (
        UPDATE notification AS it
           SET state = 'failed', ended_at = greatest(now(), it.started_at),
               error = 'Its last worker died, or lost the database. It may have been sent.'
          FROM spent
         WHERE it.id = spent.id AND it.state = ANY (:sources)
     RETURNING it.*
    )
    INSERT INTO event (actor, action, dag_id, run_id, details)
    SELECT :actor, 'notification.failed', run.dag_id, run.run_id,
           json_build_object('notification', ended.id, 'event', ended.event, 'error', ended.error)
      FROM ended JOIN dag_run AS run ON run.id = ended.dag_run_id
""")

RENEW = text("""
    WITH held AS MATERIALIZED (
        SELECT it.id
          FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS uuid[])) AS mine (id, token)
          JOIN notification AS it ON it.id = mine.id AND it.token = mine.token
         WHERE it.state = 'running' AND it.claimed_until > clock_timestamp()
         ORDER BY it.id
           FOR NO KEY UPDATE OF it
    )
    UPDATE notification AS it
       SET claimed_until = clock_timestamp() + make_interval(secs => :seconds)
      FROM held
     WHERE it.id = held.id
 RETURNING it.id
""")

REPORT = text("""
    WITH ended AS (
        UPDATE notification
           SET state = :state, ended_at = greatest(now(), started_at), error = :error
         WHERE id = :id AND token = :token AND state = ANY (:sources)
     RETURNING *
    ), told AS (
        INSERT INTO event (actor, action, dag_id, run_id, details)
        SELECT :actor, 'notification.failed', run.dag_id, run.run_id,
               json_build_object('notification', ended.id, 'event', ended.event,
                                 'error', ended.error)
          FROM ended JOIN dag_run AS run ON run.id = ended.dag_run_id
         WHERE ended.state = 'failed'
    )
    SELECT id FROM ended
""")

# One that was handed back has not been tried: that does not count.
AGAIN = text("""
    UPDATE notification
       SET state = 'queued', tries = tries - :untried, token = NULL, process_id = NULL,
           claimed_until = NULL, due_at = now() + make_interval(secs => :wait),
           error = coalesce(:error, error)
     WHERE id = :id AND token = :token AND state = ANY (:sources)
 RETURNING id
""")

REPORTED = text("SELECT state FROM notification WHERE id = :id AND token = :token")


@dataclass(frozen=True, slots=True)
class NotificationKey(CallbackKey):
    """A claimed notification; the token proves that it is still the claimant's."""

    tries: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedNotification:
    """A claimed notification: to whom, and of what; `told` are the first of its `events`.

    `message_key` is the same however often it is sent.
    """

    key: NotificationKey
    message_key: UUID
    tries: int
    event: NotifyEvent
    definition: Mapping[str, JsonValue]
    dag_run_id: int
    dag_id: str
    run_id: str
    interval_start: datetime
    interval_end: datetime
    events: int
    told: Sequence[Mapping[str, JsonValue]]
    task_id: None = None


def claim(conn: Connection, me: Identity, limit: int, seconds: float) -> list[ClaimedNotification]:
    """Take notifications that are due, or whose worker has let its claim run out."""
    spent = {"most": MOST_SENDS, "limit": limit, "sources": sources_of(CallbackState.FAILED)}
    conn.execute(GIVE_UP, {**spent, "actor": actor_of(me)})
    claimed = conn.scalars(
        CLAIM, {"most": MOST_SENDS, "limit": limit, "process": me.id, "seconds": seconds}
    )
    ids = list(claimed)
    if not ids:
        return []
    return [_claimed(row) for row in conn.execute(FACTS, {"ids": ids, "told": MOST_TOLD})]


def renew(
    conn: Connection, keys: Sequence[NotificationKey], seconds: float
) -> set[NotificationKey]:
    """Extend what has not run out, and return it; whatever is not returned must be killed."""
    ids, tokens = [key.id for key in keys], [str(key.token) for key in keys]
    renewed = set(conn.scalars(RENEW, {"ids": ids, "tokens": tokens, "seconds": seconds}))
    return {key for key in keys if key.id in renewed}


def report(conn: Connection, me: Identity, key: NotificationKey, its: CallbackReport) -> bool:
    """End a notification, or have it sent again; False when it is no longer the reporter's.

    The same report twice is accepted twice.
    """
    again = its.state is CallbackState.QUEUED
    failed = its.state is CallbackState.FAILED and key.tries < MOST_SENDS
    named = {"id": key.id, "token": str(key.token)}
    if again or failed:
        parameters = {
            **named,
            "sources": sources_of(CallbackState.QUEUED),
            "untried": 1 if again else 0,
            "wait": 0.0 if again else wait_after(key.tries),
            "error": its.error,
        }
        return conn.scalar(AGAIN, parameters) is not None
    ended = {**named, "sources": sources_of(its.state), "state": str(its.state), "error": its.error}
    if conn.scalar(REPORT, {**ended, "actor": actor_of(me)}) is not None:
        return True
    return bool(conn.scalar(REPORTED, named) == its.state)


def _claimed(row: Row[Any]) -> ClaimedNotification:
    return ClaimedNotification(
        key=NotificationKey(row.id, row.token, row.tries),
        message_key=row.key,
        tries=row.tries,
        event=NotifyEvent(row.event),
        definition=row.definition,
        dag_run_id=row.dag_run_id,
        dag_id=row.dag_id,
        run_id=row.run_id,
        interval_start=row.interval_start,
        interval_end=row.interval_end,
        events=row.events,
        told=row.told or (),
    )
