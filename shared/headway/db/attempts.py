"""SQL on task attempts: claim, handle, report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json import dumps
from uuid import UUID, uuid4

from sqlalchemy import Connection, text

from headway.db.processes import Identity
from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.domain.retry import Next
from headway.domain.states import Outcome, RunType

LOCK_QUEUED = text("""
    SELECT task_instance_id, attempt
      FROM task_attempt
     WHERE phase = 'queued' AND queue = ANY (CAST(:queues AS text[]))
     ORDER BY priority DESC, task_instance_id
     LIMIT :limit
       FOR NO KEY UPDATE SKIP LOCKED
""")

CLAIM = text("""
    WITH mine AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[])) AS mine (task_instance_id, attempt, token)
    ), claimed AS (
        UPDATE task_attempt AS it
           SET phase = 'running', token = mine.token, process_id = :process, started_at = now()
          FROM mine
         WHERE (it.task_instance_id, it.attempt) = (mine.task_instance_id, mine.attempt)
           AND it.phase = 'queued'
     RETURNING it.task_instance_id, it.attempt, it.token
    ), leased AS (
        INSERT INTO lease (task_instance_id, attempt, token, expires_at)
        SELECT task_instance_id, attempt, token, now() + make_interval(secs => :seconds)
          FROM claimed
    )
    UPDATE task_instance AS task
       SET state = 'running', started_at = now(), ended_at = NULL
      FROM claimed
     WHERE task.id = claimed.task_instance_id AND task.attempt = claimed.attempt
       AND task.state = 'queued'
 RETURNING task.id, task.attempt, claimed.token
""")

FACTS = text("""
    SELECT task.id, task.task_id, task.map_index, task.attempt, task.failures, task.losses,
           run.id AS dag_run_id, run.dag_id, run.run_id, run.run_type, run.conf, run.version_id,
           run.interval_start, run.interval_end, run.schedule_date, run.run_after,
           run.started_at AS run_started_at, version.manifest_hash
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE task.id = ANY (:ids)
     ORDER BY task.id
""")

SET_HANDLE = text("""
    UPDATE task_attempt SET handle = CAST(:handle AS json)
     WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
       AND phase IN ('running', 'stopping')
""")

# Taken before the attempts: a report may wait, so it locks in the one order.
LOCK_TASKS = text("""
    SELECT FROM task_instance WHERE id = ANY (:ids) ORDER BY id FOR NO KEY UPDATE
""")

REPORT = text("""
    WITH report AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[]), CAST(:outcomes AS text[]),
                             CAST(:errors AS text[]), CAST(:states AS text[]),
                             CAST(:delays AS float8[]), CAST(:skips AS text[]))
               AS report (task_instance_id, attempt, token, outcome, error, state, delay, skips)
    ), ended AS (
        UPDATE task_attempt AS it
           SET phase = 'ended', ended_at = now(), outcome = report.outcome, error = report.error
          FROM report
         WHERE (it.task_instance_id, it.attempt) = (report.task_instance_id, report.attempt)
           AND it.token = report.token AND it.phase IN ('running', 'stopping')
     RETURNING report.*
    ), released AS (
        DELETE FROM lease USING ended
         WHERE (lease.task_instance_id, lease.attempt) = (ended.task_instance_id, ended.attempt)
    ), moved AS (
        UPDATE task_instance AS task
           SET state = ended.state, ended_at = now(),
               failures = failures + CASE WHEN ended.outcome IN ('failed', 'timed_out')
                                          THEN 1 ELSE 0 END,
               losses = losses + CASE WHEN ended.outcome = 'lost' THEN 1 ELSE 0 END,
               retry_at = now() + make_interval(secs => ended.delay),
               skips = ARRAY(SELECT json_array_elements_text(CAST(ended.skips AS json)))
          FROM ended
         WHERE task.id = ended.task_instance_id AND task.attempt = ended.attempt
           AND task.state = 'running'
     RETURNING task.id, task.attempt, task.dag_run_id
    ), woken AS (
        INSERT INTO wake (dag_run_id) SELECT DISTINCT dag_run_id FROM moved
    )
    SELECT id, attempt FROM moved
""")

REPORTED = text("""
    SELECT outcome FROM task_attempt
     WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
       AND phase = 'ended'
""")


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """A claimed attempt; the token proves that it is still the claimant's."""

    task_instance_id: int
    attempt: int
    token: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A claimed attempt with all that a worker must know to run it."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a claimed attempt ended, and what follows for its task instance."""

    key: AttemptKey
    outcome: Outcome
    following: Next
    error: str | None = None
    skips: Sequence[str] = ()


def claim(
    conn: Connection, me: Identity, queues: Sequence[str], limit: int, lease_seconds: float
) -> list[Claimed]:
    """Take up to `limit` queued attempts, the most urgent first, each with a token and a lease."""
    queued = conn.execute(LOCK_QUEUED, {"queues": list(queues), "limit": limit}).all()
    if not queued:
        return []
    claimed = conn.execute(
        CLAIM,
        {
            "task_ids": [row.task_instance_id for row in queued],
            "attempts": [row.attempt for row in queued],
            "tokens": [str(uuid4()) for _ in queued],
            "process": me.id,
            "seconds": lease_seconds,
        },
    )
    tokens = {row.id: row.token for row in claimed}
    facts = conn.execute(FACTS, {"ids": list(tokens)})
    return [
        Claimed(
            key=AttemptKey(row.id, row.attempt, tokens[row.id]),
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
        )
        for row in facts
    ]


def set_handle(conn: Connection, key: AttemptKey, handle: Mapping[str, JsonValue]) -> bool:
    """Record what the attempt has running elsewhere; False when the attempt is no longer ours."""
    moved = conn.execute(SET_HANDLE, {**_key(key), "handle": dumps(dict(handle))})
    return moved.rowcount > 0


def report(conn: Connection, reports: Sequence[Report]) -> set[AttemptKey]:
    """End attempts in one statement; return those that were still the reporter's to end."""
    conn.execute(LOCK_TASKS, {"ids": [report.key.task_instance_id for report in reports]})
    moved = conn.execute(
        REPORT,
        {
            "task_ids": [report.key.task_instance_id for report in reports],
            "attempts": [report.key.attempt for report in reports],
            "tokens": [str(report.key.token) for report in reports],
            "outcomes": [str(report.outcome) for report in reports],
            "errors": [report.error for report in reports],
            "states": [str(report.following.state) for report in reports],
            "delays": [report.following.seconds for report in reports],
            "skips": [dumps(list(report.skips)) for report in reports],
        },
    )
    accepted = {(row.id, row.attempt) for row in moved}
    return {
        report.key
        for report in reports
        if (report.key.task_instance_id, report.key.attempt) in accepted
    }


def reported(conn: Connection, key: AttemptKey) -> Outcome | None:
    """Return the outcome that this very claim has reported before; None if it has none."""
    outcome = conn.scalar(REPORTED, _key(key))
    return None if outcome is None else Outcome(outcome)


def _key(key: AttemptKey) -> dict[str, object]:
    return {
        "task_id": key.task_instance_id,
        "attempt": key.attempt,
        "token": str(key.token),
    }
