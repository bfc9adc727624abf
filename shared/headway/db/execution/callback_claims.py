"""SQL on claimed callbacks: by a token and for a while, as attempts are; then reported.

What a worker leaves that dies is claimed by another one when the claim has run out, on the
database's clock: no scheduler takes part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, text

from headway.db.core.processes import Identity
from headway.db.execution import called_instances
from headway.db.execution.called_instances import EndedInstance
from headway.domain.arguments import JsonValue
from headway.domain.dag.callbacks import MOST_TRIES, CallbackEvent
from headway.domain.interval import DataInterval
from headway.domain.states import CALLBACK_MOVES, CallbackState, RunType

# One statement for both: a worker looks again and again, mostly in vain.
DUE = text("""
    SELECT EXISTS (SELECT FROM callback
                    WHERE ended_at IS NULL AND (queue IS NULL OR queue = ANY (:queues))
                      AND (state = 'queued' OR claimed_until < now())) AS callbacks,
           EXISTS (SELECT FROM notification
                    WHERE ended_at IS NULL AND due_at <= now()
                      AND (state = 'queued' OR claimed_until < now())) AS notifications
""")

# Whether it may be taken is judged on the locked row: another worker may have it by now.
CLAIM = text("""
    WITH due AS MATERIALIZED (
        SELECT id, state
          FROM callback
         WHERE ended_at IS NULL AND (queue IS NULL OR queue = ANY (:queues))
           AND (state = 'queued' OR claimed_until < now()) AND tries < :most
         ORDER BY id
         LIMIT :limit
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE callback AS it
       SET state = 'running', tries = tries + 1, token = gen_random_uuid(),
           process_id = :process, started_at = clock_timestamp(),
           claimed_until = clock_timestamp() + make_interval(secs => :seconds),
           version_id = (SELECT version_id FROM dag_run WHERE id = it.dag_run_id)
      FROM due
     WHERE it.id = due.id AND it.state = due.state
 RETURNING it.id
""")

FACTS = text("""
    SELECT it.id, it.token, it.tries, it.event, it.reason, it.cause, it.task_id, it.map_index,
           it.attempt, it.dag_run_id, run.dag_id, run.run_id, run.run_type, run.conf,
           it.version_id, run.interval_start, run.interval_end, run.run_after,
           run.created_at AS run_created_at, run.started_at AS run_started_at,
           run.ended_at AS run_ended_at, version.manifest_hash
      FROM callback AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN dag_version AS version ON version.id = it.version_id
     WHERE it.id = ANY (:ids)
     ORDER BY it.id
""")

GIVE_UP = text("""
    WITH spent AS MATERIALIZED (
        SELECT id FROM callback
         WHERE ended_at IS NULL AND state = 'running' AND claimed_until < now() AND tries >= :most
         ORDER BY id
         LIMIT :limit
           FOR NO KEY UPDATE SKIP LOCKED
    ), ended AS (
        UPDATE callback AS it
           SET state = 'failed', ended_at = greatest(now(), it.started_at), error = :error
          FROM spent
         WHERE it.id = spent.id AND it.state = ANY (:sources)
     RETURNING it.*
    )
    INSERT INTO event (actor, action, dag_id, run_id, task_id, details)
    SELECT :actor, 'callback.failed', run.dag_id, run.run_id, ended.task_id,
           json_build_object('callback', ended.id, 'event', ended.event, 'error', ended.error)
      FROM ended JOIN dag_run AS run ON run.id = ended.dag_run_id
""")

# In the order of ids, as the reports that it may have to wait for.
RENEW = text("""
    WITH held AS MATERIALIZED (
        SELECT it.id
          FROM unnest(CAST(:ids AS bigint[]), CAST(:tokens AS uuid[])) AS mine (id, token)
          JOIN callback AS it ON it.id = mine.id AND it.token = mine.token
         WHERE it.state = 'running' AND it.claimed_until > clock_timestamp()
         ORDER BY it.id
           FOR NO KEY UPDATE OF it
    )
    UPDATE callback AS it
       SET claimed_until = clock_timestamp() + make_interval(secs => :seconds)
      FROM held
     WHERE it.id = held.id
 RETURNING it.id
""")

REPORT = text("""
    WITH ended AS (
        UPDATE callback
           SET state = :state, ended_at = greatest(now(), started_at), error = :error
         WHERE id = :id AND token = :token AND state = ANY (:sources)
     RETURNING *
    ), told AS (
        INSERT INTO event (actor, action, dag_id, run_id, task_id, details)
        SELECT :actor, 'callback.' || ended.state, run.dag_id, run.run_id, ended.task_id,
               json_build_object('callback', ended.id, 'event', ended.event, 'error', ended.error)
          FROM ended JOIN dag_run AS run ON run.id = ended.dag_run_id
    )
    SELECT id FROM ended
""")

HAND_BACK = text("""
    UPDATE callback
       SET state = 'queued', tries = tries - 1, token = NULL, process_id = NULL,
           claimed_until = NULL, started_at = NULL
     WHERE id = :id AND token = :token AND state = ANY (:sources)
 RETURNING id
""")

REPORTED = text("SELECT state FROM callback WHERE id = :id AND token = :token")

GIVEN_UP: Final = (
    f"It was begun {MOST_TRIES} times, and no worker has brought it to an end: each died, lost the "
    "database, or could not prepare it. The functions may have been called."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWork:
    """Of what something waits for a worker."""

    callbacks: bool
    notifications: bool


@dataclass(frozen=True, slots=True)
class CallbackKey:
    """A claimed callback; the token proves that it is still the claimant's."""

    id: int
    token: UUID


@dataclass(frozen=True, slots=True)
class CallbackReport:
    """How a claimed callback ended; `QUEUED` when it is handed back, to be begun again."""

    key: CallbackKey
    state: CallbackState
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedCallback:
    """A claimed callback with all that a worker must know to call its functions.

    `task_id` is None, and with it `map_index` and `attempt`, for an event of the run itself.
    The `instance` is that of the event; for a run it is the one that decided it, if any.
    """

    key: CallbackKey
    tries: int
    event: CallbackEvent
    reason: str
    cause: str | None
    task_id: str | None
    map_index: int | None
    attempt: int | None
    dag_run_id: int
    dag_id: str
    run_id: str
    run_type: RunType
    conf: Mapping[str, JsonValue]
    version_id: int
    manifest_hash: str
    interval: DataInterval
    run_after: datetime
    run_started_at: datetime | None
    run_created_at: datetime | None = None
    run_ended_at: datetime | None = None
    instance: EndedInstance | None = None


def due(conn: Connection, queues: Sequence[str]) -> DueWork:
    """Return whether callbacks, or notifications, wait for a worker of these queues."""
    row = conn.execute(DUE, {"queues": list(queues)}).one()
    return DueWork(callbacks=row.callbacks, notifications=row.notifications)


def claim(
    conn: Connection, me: Identity, queues: Sequence[str], limit: int, seconds: float
) -> list[ClaimedCallback]:
    """Take callbacks that wait, or whose worker has let its claim run out.

    They are the claimant's for that many seconds, and longer when it renews them.  One that
    was begun `MOST_TRIES` times is given up.
    """
    spent = {"most": MOST_TRIES, "limit": limit, "sources": sources_of(CallbackState.FAILED)}
    conn.execute(GIVE_UP, {**spent, "actor": actor_of(me), "error": GIVEN_UP})
    claimed = conn.scalars(
        CLAIM,
        {
            "queues": list(queues),
            "most": MOST_TRIES,
            "limit": limit,
            "process": me.id,
            "seconds": seconds,
        },
    )
    rows = conn.execute(FACTS, {"ids": list(claimed)}).all()
    instances = called_instances.of_callbacks(conn, [row.id for row in rows])
    return [_claimed(row, instances.get(row.id)) for row in rows]


def renew(conn: Connection, keys: Sequence[CallbackKey], seconds: float) -> set[CallbackKey]:
    """Extend what has not run out, and return it; whatever is not returned must be killed."""
    rows = conn.scalars(
        RENEW,
        {
            "ids": [key.id for key in keys],
            "tokens": [str(key.token) for key in keys],
            "seconds": seconds,
        },
    )
    renewed = set(rows)
    return {key for key in keys if key.id in renewed}


def report(conn: Connection, me: Identity, its: CallbackReport) -> bool:
    """End a callback, or hand it back; False when it is no longer the reporter's.

    The same report twice is accepted twice.
    """
    parameters = {"id": its.key.id, "token": str(its.key.token), "sources": sources_of(its.state)}
    if its.state is CallbackState.QUEUED:
        return conn.scalar(HAND_BACK, parameters) is not None
    ended = {**parameters, "state": str(its.state), "error": its.error, "actor": actor_of(me)}
    if conn.scalar(REPORT, ended) is not None:
        return True
    del parameters["sources"]
    return bool(conn.scalar(REPORTED, parameters) == its.state)


def _claimed(row: Row[Any], instance: EndedInstance | None) -> ClaimedCallback:
    return ClaimedCallback(
        key=CallbackKey(row.id, row.token),
        tries=row.tries,
        event=CallbackEvent(row.event),
        reason=row.reason,
        cause=row.cause,
        task_id=row.task_id,
        map_index=row.map_index,
        attempt=row.attempt,
        dag_run_id=row.dag_run_id,
        dag_id=row.dag_id,
        run_id=row.run_id,
        run_type=RunType(row.run_type),
        conf=row.conf,
        version_id=row.version_id,
        manifest_hash=row.manifest_hash,
        interval=DataInterval(row.interval_start, row.interval_end),
        run_after=row.run_after,
        run_started_at=row.run_started_at,
        run_created_at=row.run_created_at,
        run_ended_at=row.run_ended_at,
        instance=instance,
    )


def actor_of(me: Identity) -> str:
    """Return how the journal names the worker."""
    return f"worker:{me.id}"


def sources_of(target: CallbackState) -> list[str]:
    """Return the states from which a callback, or a notification, may come into this one."""
    return sorted(source for source, moves in CALLBACK_MOVES.items() if target in moves)
