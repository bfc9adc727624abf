"""SQL on task attempts: claim, report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from json import dumps
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, text

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.prepared import hot
from headway.db.core.processes import Identity
from headway.db.execution import callbacks, notified_events
from headway.domain.arguments import JsonValue
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.retry import Next
from headway.domain.interval import DataInterval
from headway.domain.spark_work import Handle
from headway.domain.states import TERMINAL, Outcome, RunType, TaskState

ANY_QUEUED = hot("""
    SELECT EXISTS (SELECT FROM task_attempt
                    WHERE phase = 'queued' AND queue = ANY (CAST(:queues AS text[])))
""")


# One statement, for each guard is on the very row that is locked.  No lock is waited for, so
# attempts may be locked before their tasks.  LATERAL, here and in REPORT, leaves the planner
# no choice but to look rows up by their key, in the order given, whatever its statistics.
CLAIM = hot("""
    WITH next AS MATERIALIZED (
        SELECT it.*
          FROM unnest(CAST(:queues AS text[])) AS its (queue)
         CROSS JOIN LATERAL (
               SELECT task_instance_id, attempt, phase, rank
                 FROM task_attempt
                WHERE phase = 'queued' AND queue = its.queue
                ORDER BY rank, task_instance_id
                LIMIT :limit
                  FOR NO KEY UPDATE SKIP LOCKED) AS it
         ORDER BY it.rank, it.task_instance_id
         LIMIT :limit
    ), task AS MATERIALIZED (
        SELECT next.phase, it.*
          FROM next
         CROSS JOIN LATERAL (
               SELECT id, attempt, state, dag_run_id
                 FROM task_instance
                WHERE id = next.task_instance_id AND attempt = next.attempt AND state = 'queued'
                  FOR NO KEY UPDATE SKIP LOCKED) AS it
    ), claimed AS (
        UPDATE task_attempt AS it
           SET phase = CASE WHEN stop_to IS NULL THEN 'running' ELSE 'stopping' END,
               token = gen_random_uuid(), process_id = :process,
               started_at = clock_timestamp(),
               claimed_until = now() + make_interval(secs => :seconds),
               version_id = (SELECT version_id FROM dag_run WHERE id = task.dag_run_id)
          FROM task
         WHERE it.task_instance_id = task.id AND it.attempt = task.attempt
           AND it.phase = task.phase
     RETURNING it.task_instance_id, it.attempt, it.token, it.stop_to, task.state
    )
    UPDATE task_instance AS task
       SET state = CASE stop_to WHEN 'none' THEN 'restarting' ELSE 'running' END,
           process_id = :process, started_at = clock_timestamp(), ended_at = NULL
      FROM claimed
     WHERE task.id = claimed.task_instance_id AND task.attempt = claimed.attempt
       AND task.state = claimed.state
 RETURNING task.id, claimed.token
""")


FACTS = hot("""
    SELECT task.id, task.task_id, task.map_index, task.attempt, task.failures, task.losses,
           run.id AS dag_run_id, run.dag_id, run.run_id, run.run_type, run.conf, it.version_id,
           run.interval_start, run.interval_end, run.schedule_date, run.run_after,
           run.started_at AS run_started_at, run.created_at AS run_created_at,
           version.manifest_hash, it.started_at, it.handle, it.stop_to IS NOT NULL AS is_called_off,
           it.started_at - it.queued_at AS queued, it.started_at - task.scheduled_at AS scheduled
      FROM task_instance AS task
      JOIN task_attempt AS it ON (it.task_instance_id, it.attempt) = (task.id, task.attempt)
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag_version AS version ON version.id = it.version_id
     WHERE task.id = ANY (:ids)
     ORDER BY task.rank, task.id
""")


# A report may wait, so it locks in the one order: tasks, then attempts, each by id.
LOCK_TASKS = hot("""
    SELECT FROM task_instance WHERE id = ANY (:ids) ORDER BY id FOR NO KEY UPDATE
""")


REPORT = hot("""
    WITH report AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[]), CAST(:outcomes AS text[]),
                             CAST(:errors AS text[]), CAST(:states AS text[]),
                             CAST(:delays AS float8[]), CAST(:skips AS text[]))
               AS report (task_instance_id, attempt, token, outcome, error, state, delay, skips)
         ORDER BY task_instance_id
    ), held AS MATERIALIZED (
        SELECT report.task_instance_id, report.attempt, report.outcome,
               CASE report.outcome WHEN 'cancelled'
                                   THEN nullif(concat_ws(' ', report.error, it.error), '')
                                   ELSE report.error END AS error,
               it.stop_to IS NULL AS counts,
               coalesce(it.stop_to, report.state) AS state,
               CASE WHEN it.stop_to IS NULL THEN report.delay END AS delay,
               CASE WHEN it.stop_to IS NULL THEN report.skips END AS skips
          FROM report
         CROSS JOIN LATERAL (
               SELECT it.stop_to, it.error
                 FROM task_attempt AS it
                WHERE it.task_instance_id = report.task_instance_id
                  AND it.attempt = report.attempt AND it.token = report.token
                  AND it.phase IN ('running', 'stopping')
                  FOR NO KEY UPDATE) AS it
    ), ended AS (
        UPDATE task_attempt AS it
           SET phase = 'ended', ended_at = greatest(now(), it.started_at),
               outcome = held.outcome, error = held.error
          FROM held
         WHERE it.task_instance_id = held.task_instance_id AND it.attempt = held.attempt
    ), released AS (
        DELETE FROM lease USING held
         WHERE lease.task_instance_id = held.task_instance_id AND lease.attempt = held.attempt
    ), moved AS (
        UPDATE task_instance AS task
           SET state = held.state,
               started_at = CASE WHEN held.state <> 'none' THEN task.started_at END,
               ended_at = CASE WHEN held.state <> 'none'
                               THEN greatest(now(), task.started_at) END,
               retry_at = now() + make_interval(secs => held.delay),
               failures = failures + CASE WHEN held.counts
                                           AND held.outcome IN ('failed', 'timed_out')
                                          THEN 1 ELSE 0 END,
               losses = CASE WHEN held.state = 'none' THEN 0
                             WHEN held.counts AND held.outcome = 'lost' THEN losses + 1
                             ELSE losses END,
               skips = CASE WHEN held.skips IS NULL THEN '{}'
                            ELSE ARRAY(SELECT json_array_elements_text(CAST(held.skips AS json)))
                       END
          FROM held
         WHERE task.id = held.task_instance_id AND task.attempt = held.attempt
           AND (task.state = 'running' OR (task.state = 'restarting' AND NOT held.counts))
     RETURNING task.id, task.attempt, task.dag_run_id, task.task_id, task.state, task.skips
    ), told AS (
        INSERT INTO wake (dag_run_id, task_id, state, skips, task_instance_id)
        SELECT dag_run_id, CASE WHEN state <> 'none' THEN task_id END, nullif(state, 'none'), skips,
               id
          FROM moved
         WHERE state = 'none' OR state = ANY (:terminal)
    )
    SELECT id, attempt, state FROM moved
""")


REPORTED = text("""
    SELECT outcome FROM task_attempt WHERE phase = 'ended'
       AND task_instance_id = :task_id AND attempt = :attempt AND token = :token
""")


# Only the attempt that holds the token may name its task instance.
NAME = text("""
    UPDATE task_instance AS task
       SET rendered_map_index = :name
      FROM task_attempt AS it
     WHERE it.task_instance_id = :task_id AND it.attempt = :attempt AND it.token = :token
       AND it.phase IN ('running', 'stopping')
       AND task.id = it.task_instance_id AND task.attempt = it.attempt
""")


_TERMINAL: Final = sorted(map(str, TERMINAL))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A claimed attempt with all that a worker must know to run it.

    `handle` is of what an attempt before it has left on a cluster; one that is called off runs
    nothing, and ends that.  For how long it `waited` for a worker, and its task for both.
    """

    key: AttemptKey
    dag_run_id: int
    dag_id: str
    run_id: str
    run_type: RunType
    task_id: str
    map_index: int
    failures: int
    losses: int
    conf: Mapping[str, JsonValue]
    version_id: int
    manifest_hash: str
    interval: DataInterval
    schedule_date: datetime
    run_after: datetime
    run_started_at: datetime
    handle: Handle | None = None
    is_called_off: bool = False
    started_at: datetime | None = None
    run_created_at: datetime | None = None
    waited: tuple[timedelta, timedelta | None] = (timedelta(), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a claimed attempt ended, what follows for its task, and what that has functions for.

    `left` names what it has left on a cluster: then it is for another attempt, in its place.
    """

    key: AttemptKey
    outcome: Outcome
    following: Next
    error: str | None = None
    skips: Sequence[str] = ()
    callbacks: Sequence[CallbackEvent] = ()
    notifies: Sequence[CallbackEvent] = ()
    left: str | None = None


def any_queued(conn: Connection, queues: Sequence[str]) -> bool:
    """Return whether an attempt waits in one of these queues."""
    return bool(conn.scalar(ANY_QUEUED, {"queues": list(queues)}))


def claim(
    conn: Connection, me: Identity, queues: Sequence[str], limit: int, lease_seconds: float
) -> list[Claimed]:
    """Take up to `limit` queued attempts, those first in the queue order, each with a token.

    They are the claimant's for `lease_seconds`, and longer when it renews them.
    """
    claimed = conn.execute(
        CLAIM,
        {
            "queues": list(dict.fromkeys(queues)),
            "limit": limit,
            "process": me.id,
            "seconds": lease_seconds,
        },
    )
    tokens = {row.id: row.token for row in claimed}
    if not tokens:
        return []
    return [_claimed(row, tokens[row.id]) for row in conn.execute(FACTS, {"ids": [*tokens]})]


def report(conn: Connection, reports: Sequence[Report]) -> dict[AttemptKey, TaskState]:
    """End attempts in one statement; return those that were still the reporter's to end.

    With each comes the state that its task is in now.  The task of one that was told to stop
    takes the state that it was told to stop for, and nothing is counted against it.
    """
    conn.execute(LOCK_TASKS, {"ids": [report.key.task_instance_id for report in reports]})
    moved = conn.execute(
        REPORT,
        {
            **attempt_keys.columns([report.key for report in reports]),
            "outcomes": [str(report.outcome) for report in reports],
            "errors": [report.error for report in reports],
            "states": [str(report.following.state) for report in reports],
            "delays": [report.following.seconds for report in reports],
            "skips": [dumps(list(report.skips)) if report.skips else None for report in reports],
            "terminal": _TERMINAL,
        },
    )
    states = {(row.id, row.attempt): TaskState(row.state) for row in moved}
    keys = ((report.key, (report.key.task_instance_id, report.key.attempt)) for report in reports)
    accepted = {key: states[pair] for key, pair in keys if pair in states}
    ended = [(its, accepted[its.key]) for its in reports if its.key in accepted]
    callbacks.add_of_tasks(conn, ended)
    notified_events.add_of_tasks(conn, ended)
    return accepted


def name_instance(conn: Connection, key: AttemptKey, name: str) -> bool:
    """Say what the task instance is called; False if the attempt is no longer the caller's."""
    parameters = {**attempt_keys.parameters(key), "name": name}
    return conn.execute(NAME, parameters).rowcount > 0


def reported(conn: Connection, key: AttemptKey) -> Outcome | None:
    """Return the outcome that this very claim has reported before; None if it has none."""
    outcome = conn.scalar(REPORTED, attempt_keys.parameters(key))
    return None if outcome is None else Outcome(outcome)


def _claimed(row: Row[Any], token: UUID) -> Claimed:
    return Claimed(
        key=AttemptKey(row.id, row.attempt, token),
        dag_run_id=row.dag_run_id,
        dag_id=row.dag_id,
        run_id=row.run_id,
        run_type=RunType(row.run_type),
        task_id=row.task_id,
        map_index=row.map_index,
        failures=row.failures,
        losses=row.losses,
        conf=row.conf,
        version_id=row.version_id,
        manifest_hash=row.manifest_hash,
        interval=DataInterval(row.interval_start, row.interval_end),
        schedule_date=row.schedule_date,
        run_after=row.run_after,
        run_started_at=row.run_started_at,
        handle=row.handle,
        is_called_off=row.is_called_off,
        started_at=row.started_at,
        run_created_at=row.run_created_at,
        waited=(row.queued, row.scheduled),
    )
