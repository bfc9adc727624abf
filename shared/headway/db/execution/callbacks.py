"""SQL on callbacks of tasks: entered with the event that they are for, in its transaction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from headway.domain.dag.callbacks import CallbackEvent, task_event
from headway.domain.states import TaskState

if TYPE_CHECKING:
    from headway.db.execution.attempts import Report


# Of a run that was deleted by hand nobody is told: its attempts end all the same.
ADD_OF_TASKS = text("""
    INSERT INTO callback (dag_run_id, task_id, map_index, attempt, event, reason, cause, queue)
    SELECT task.dag_run_id, task.task_id, task.map_index, it.attempt, it.event, it.reason,
           it.cause, task.queue
      FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]), CAST(:events AS text[]),
                  CAST(:reasons AS text[]), CAST(:causes AS text[]))
           AS it (task_instance_id, attempt, event, reason, cause)
      JOIN task_instance AS task ON task.id = it.task_instance_id
     WHERE EXISTS (SELECT FROM dag_run WHERE id = task.dag_run_id)
     ORDER BY task.id
""")


OF_TASK = text("""
    SELECT callbacks FROM dag_task WHERE version_id = :version_id AND task_id = :task_id
""")


def add_of_tasks(conn: Connection, ended: Sequence[tuple["Report", TaskState]]) -> None:
    """Enter callbacks for those ends of attempts that their tasks have functions for.

    Each comes with the state that the task is in since.  Call it in the transaction that ends
    the attempts.
    """
    having = [(its, state) for its, state in ended if its.callbacks]
    events = [(its, task_event(its.callbacks, its.outcome, state)) for its, state in having]
    found = [(its, event) for its, event in events if event is not None]
    if not found:
        return
    conn.execute(
        ADD_OF_TASKS,
        {
            "task_ids": [its.key.task_instance_id for its, _ in found],
            "attempts": [its.key.attempt for its, _ in found],
            "events": [str(event) for _, event in found],
            "reasons": [str(its.outcome) for its, _ in found],
            "causes": [its.error for its, _ in found],
        },
    )


def of_task(conn: Connection, version_id: int, task_id: str) -> tuple[CallbackEvent, ...]:
    """Return the events that a task has functions for, without its version being read."""
    return events_of(conn.scalar(OF_TASK, {"version_id": version_id, "task_id": task_id}))


def events_of(stored: str | None) -> tuple[CallbackEvent, ...]:
    """Return events as `dag_task` has them: their names, with commas between."""
    return tuple(CallbackEvent(name) for name in (stored or "").split(",") if name)
