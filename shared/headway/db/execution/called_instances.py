"""SQL on the task instances that callbacks are about: how their attempts went, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from headway.domain.states import TaskState

OF_TASKS = text("""
    SELECT it.id, task.task_id, task.map_index, attempt.attempt, task.state, attempt.started_at,
           attempt.ended_at, process.hostname
      FROM callback AS it
      JOIN task_instance AS task
        ON task.dag_run_id = it.dag_run_id AND task.map_index = it.map_index
       AND task.task_id = it.task_id
      JOIN task_attempt AS attempt
        ON (attempt.task_instance_id, attempt.attempt) = (task.id, it.attempt)
      LEFT JOIN process ON process.id = attempt.process_id
     WHERE it.id = ANY (:ids) AND it.task_id IS NOT NULL
""")

# Of a run that has failed, one that failed comes first.
OF_RUNS = text("""
    SELECT it.id, last.*
      FROM callback AS it
     CROSS JOIN LATERAL (
           SELECT task.task_id, task.map_index, task.attempt, task.state, attempt.started_at,
                  attempt.ended_at, process.hostname
             FROM task_instance AS task
             JOIN task_attempt AS attempt
               ON (attempt.task_instance_id, attempt.attempt) = (task.id, task.attempt)
             LEFT JOIN process ON process.id = attempt.process_id
            WHERE task.dag_run_id = it.dag_run_id AND attempt.started_at IS NOT NULL
            ORDER BY it.event = 'failure' AND task.state <> 'failed',
                     attempt.ended_at DESC NULLS LAST, task.id DESC
            LIMIT 1) AS last
     WHERE it.id = ANY (:ids) AND it.task_id IS NULL
""")


@dataclass(frozen=True, slots=True)
class EndedInstance:
    """A task instance that a callback is about: its attempt, when that was, and on which host."""

    task_id: str
    map_index: int
    attempt: int
    state: TaskState
    started_at: datetime | None = None
    ended_at: datetime | None = None
    hostname: str | None = None


def of_callbacks(conn: Connection, ids: Sequence[int]) -> dict[int, EndedInstance]:
    """Return the instance that each of these callbacks is about, as far as there is one.

    Of a run's end that is the task that ended last, of a failure the one that failed last.
    """
    if not ids:
        return {}
    rows = [
        row for statement in (OF_TASKS, OF_RUNS) for row in conn.execute(statement, {"ids": ids})
    ]
    return {
        row.id: EndedInstance(
            row.task_id,
            row.map_index,
            row.attempt,
            TaskState(row.state),
            row.started_at,
            row.ended_at,
            row.hostname,
        )
        for row in rows
    }
