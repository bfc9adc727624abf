"""SQL on what traces tell of runs and attempts that have ended.  It only reads."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.domain.traces import RunTrace, TracedAttempt, TracedRun

ATTEMPTS = text("""
    SELECT it.task_instance_id, it.attempt, it.queue, it.pool, it.queued_at, it.started_at,
           it.ended_at, it.outcome, it.error, it.process_id,
           task.task_id, task.map_index, task.scheduled_at,
           run.id AS dag_run_id, run.dag_id, run.run_id, run.started_at AS run_started_at
      FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]))
        AS asked (task_instance_id, attempt)
      JOIN task_attempt AS it USING (task_instance_id, attempt)
      JOIN task_instance AS task ON task.id = it.task_instance_id
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE it.ended_at IS NOT NULL AND run.started_at IS NOT NULL
""")

RUNS = text("""
    SELECT id AS dag_run_id, dag_id, run_id, run_type, run_after, started_at AS run_started_at,
           ended_at, state
      FROM dag_run
     WHERE id = ANY (:ids) AND ended_at IS NOT NULL AND started_at IS NOT NULL
""")


def attempts(conn: Connection, keys: Sequence[AttemptKey]) -> dict[AttemptKey, TracedAttempt]:
    """Return those of these attempts that have ended."""
    columns = attempt_keys.columns(keys)
    asked = {name: columns[name] for name in ("task_ids", "attempts")}
    by_number = {(key.task_instance_id, key.attempt): key for key in keys}
    found = {}
    for row in conn.execute(ATTEMPTS, asked):
        key = by_number[row.task_instance_id, row.attempt]
        found[key] = TracedAttempt(
            run=_trace(row),
            task_id=row.task_id,
            map_index=row.map_index,
            attempt=row.attempt,
            token=key.token,
            queue=row.queue,
            pool=row.pool,
            scheduled_at=row.scheduled_at,
            queued_at=row.queued_at,
            claimed_at=row.started_at,
            ended_at=row.ended_at,
            outcome=row.outcome,
            error=row.error,
            worker=row.process_id,
        )
    return found


def runs(conn: Connection, ids: Sequence[int]) -> list[TracedRun]:
    """Return those of these runs that have ended."""
    return [
        TracedRun(
            trace=_trace(row),
            run_type=row.run_type,
            due_at=row.run_after,
            ended_at=row.ended_at,
            state=row.state,
        )
        for row in conn.execute(RUNS, {"ids": list(ids)})
    ]


def _trace(row: Row[Any]) -> RunTrace:
    return RunTrace(row.dag_id, row.run_id, row.dag_run_id, row.run_started_at)
