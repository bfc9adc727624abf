"""SQL that enters the notifications of tasks, with the end of the attempt that they tell of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from headway.domain.dag.callbacks import task_event
from headway.domain.states import TaskState

if TYPE_CHECKING:
    from headway.db.execution.attempts import Report


ADD_OF_TASKS = text("""
    INSERT INTO notified_event (dag_run_id, notifier, event, task_id, map_index, attempt, reason,
                                cause)
    SELECT run.id, its.notifier, it.event, task.task_id, task.map_index, it.attempt, it.reason,
           it.cause
      FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]), CAST(:events AS text[]),
                  CAST(:reasons AS text[]), CAST(:causes AS text[]))
           AS it (task_instance_id, attempt, event, reason, cause)
      JOIN task_instance AS task ON task.id = it.task_instance_id
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag_notifier AS its ON its.version_id = run.version_id
                              AND its.task_id = task.task_id AND its.event = it.event
     ORDER BY task.id
""")


def add_of_tasks(conn: Connection, ended: Sequence[tuple["Report", TaskState]]) -> None:
    """Enter those ends of attempts of which notifiers tell, each with the state of its task."""
    having = [(its, state) for its, state in ended if its.notifies]
    events = [(its, task_event(its.notifies, its.outcome, state)) for its, state in having]
    found = [(its, event) for its, event in events if event is not None]
    if not found:
        return
    parameters: dict[str, Any] = {
        "task_ids": [its.key.task_instance_id for its, _ in found],
        "attempts": [its.key.attempt for its, _ in found],
        "events": [str(event) for _, event in found],
        "reasons": [str(its.outcome) for its, _ in found],
        "causes": [its.error for its, _ in found],
    }
    conn.execute(ADD_OF_TASKS, parameters)
