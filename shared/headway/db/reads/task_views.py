"""Task instances of a run with their attempts, and what these do in Spark.  Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, CursorResult, text

from headway.db.reads.pages.columns import optional, values_of
from headway.domain.arguments import JsonValue
from headway.domain.dag.names import instance_name
from headway.domain.spark_work import Handle
from headway.domain.states import Outcome, Phase, TaskState

TASKS = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state, task.attempt,
           task.failures, task.losses, task.pool, task.queue, task.priority, task.retry_at,
           task.started_at, task.ended_at, task.rendered_map_index
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND (CAST(:task_id AS text) IS NULL OR task.task_id = :task_id)
       AND (CAST(:map_index AS integer) IS NULL OR task.map_index = :map_index)
     ORDER BY task.id
""")

INSTANCES = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state, task.attempt,
           task.failures, task.losses, task.pool, task.queue, task.priority, task.retry_at,
           task.started_at, task.ended_at, task.rendered_map_index
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id AND task.task_id = :task_id
       AND (CAST(:state AS text) IS NULL OR task.state = :state)
       AND task.map_index >= :first
     ORDER BY task.map_index
     LIMIT :most
""")

STATES = text("""
    SELECT task.state, count(*)
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id AND task.task_id = :task_id
     GROUP BY task.state
     ORDER BY count(*) DESC, task.state
""")

ATTEMPTS = text("""
    SELECT task.task_id, task.map_index, it.attempt, it.phase, it.outcome, it.error, it.handle,
           it.queued_at, it.started_at, it.ended_at, process.hostname AS worker,
           work.progress, work.figures
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      LEFT JOIN process ON process.id = it.process_id
      LEFT JOIN spark_work AS work ON work.task_instance_id = it.task_instance_id
                                  AND work.attempt = it.attempt
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND (CAST(:task_id AS text) IS NULL OR task.task_id = :task_id)
       AND (CAST(:map_index AS integer) IS NULL OR task.map_index = :map_index)
       AND (NOT :spark OR it.handle IS NOT NULL)
       AND (CAST(:task_ids AS text[]) IS NULL
            OR (task.task_id, task.map_index) IN
               (SELECT * FROM unnest(CAST(:task_ids AS text[]), CAST(:map_indexes AS int[]))))
     ORDER BY task.id, it.attempt
""")

PROGRESS = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state, task.attempt,
           task.failures, task.losses, task.pool, task.queue, task.priority, task.retry_at,
           task.started_at, task.ended_at, task.rendered_map_index, work.progress, work.figures
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      LEFT JOIN spark_work AS work ON work.task_instance_id = task.id
                                  AND work.attempt = task.attempt
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
     ORDER BY task.id
""")


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task instance.

    `map_index` is -1 unless the task is mapped.  `attempt` is the number of the current or last
    attempt, 0 before the first one.  `failures` count against the retries, `losses` of workers do
    not.  `retry_at` is set while the instance waits for a retry.  `rendered_map_index` is
    what its task's map_index_template calls it.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    state: TaskState
    attempt: int
    failures: int
    losses: int
    pool: str
    queue: str
    priority: int
    retry_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    rendered_map_index: str | None = None

    @property
    def name(self) -> str:
        """The task, with its index if it is mapped."""
        return instance_name(self.task_id, self.map_index)


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt of a task instance.

    `outcome` is None until the attempt has ended, `worker` (a host name) until one has claimed
    it.  `handle` says where its work in Spark is found (domain/spark_work.py).  `progress` and
    `figures` are a SparkProgress and a SparkFigures as plain data, None where nothing is known.
    """

    task_id: str
    map_index: int
    attempt: int
    phase: Phase
    outcome: Outcome | None
    error: str | None
    handle: Handle | None
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    worker: str | None
    progress: Mapping[str, JsonValue] | None
    figures: Mapping[str, JsonValue] | None


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """A task instance with all its attempts, the first one first."""

    task: TaskView
    attempts: Sequence[AttemptView]

    @property
    def last(self) -> AttemptView | None:
        """The last attempt; None before the first one."""
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """A task instance, and what its current attempt does in Spark, as in AttemptView."""

    task: TaskView
    progress: Mapping[str, JsonValue] | None
    figures: Mapping[str, JsonValue] | None


def tasks(conn: Connection, dag_id: str, run_id: str) -> list[TaskView]:
    """Return the task instances of a run, in topological order."""
    return _tasks(conn, _asked(dag_id, run_id))


def attempts(
    conn: Connection, dag_id: str, run_id: str, task_id: str | None = None
) -> list[AttemptView]:
    """Return every attempt of a run's task instances, or of one task's, in the tasks' order."""
    return _attempts(conn, _asked(dag_id, run_id, task_id))


def spark_attempts(conn: Connection, dag_id: str, run_id: str) -> list[AttemptView]:
    """Return the attempts of a run that have given Spark something to do, in the tasks' order."""
    return _attempts(conn, {**_asked(dag_id, run_id), "spark": True})


def histories(conn: Connection, dag_id: str, run_id: str) -> list[TaskHistory]:
    """Return the task instances of a run with their attempts, in topological order."""
    return _histories(conn, _asked(dag_id, run_id))


def histories_of(
    conn: Connection, dag_id: str, run_id: str, its: Sequence[TaskView]
) -> list[TaskHistory]:
    """Return some task instances of a run, which were read before, with their attempts."""
    ids = {"task_ids": [it.task_id for it in its], "map_indexes": [it.map_index for it in its]}
    return _with_attempts(its, _attempts(conn, {**_asked(dag_id, run_id), **ids}))


def history(
    conn: Connection, dag_id: str, run_id: str, task_id: str, map_index: int
) -> TaskHistory | None:
    """Return a task instance with its attempts; None when there is no such instance."""
    found = _histories(conn, _asked(dag_id, run_id, task_id, map_index))
    return found[0] if found else None


def instances(
    conn: Connection, task: tuple[str, str, str], state: TaskState | None, first: int, most: int
) -> list[TaskView]:
    """Return at most `most` instances of a mapped task, in one state or in any, by map index.

    `task` is the id of the DAG, of the run and of the task; `first` is the least map index.
    """
    asked = _asked(*task) | {"state": state, "first": first, "most": most}
    return _task_views(conn.execute(INSTANCES, asked))


def states(conn: Connection, dag_id: str, run_id: str, task_id: str) -> dict[TaskState, int]:
    """Return how many instances of a task are in each state, the most frequent first."""
    rows = conn.execute(STATES, _asked(dag_id, run_id, task_id)).all()
    return {TaskState(state): count for state, count in rows}


def progress(conn: Connection, dag_id: str, run_id: str) -> list[TaskProgress]:
    """Return the task instances of a run with what they do in Spark, in topological order."""
    found = []
    for row in conn.execute(PROGRESS, {"dag_id": dag_id, "run_id": run_id}).mappings():
        fields: dict[str, Any] = dict(row)
        work = fields.pop("progress"), fields.pop("figures")
        found.append(TaskProgress(_task(fields), *work))
    return found


def _asked(
    dag_id: str, run_id: str, task_id: str | None = None, map_index: int | None = None
) -> dict[str, object]:
    return {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": map_index}


def _tasks(conn: Connection, asked: Mapping[str, object]) -> list[TaskView]:
    return _task_views(conn.execute(TASKS, asked))


def _task_views(rows: CursorResult[Any]) -> list[TaskView]:
    values = values_of(TaskView, rows.keys(), state=TaskState)
    return [TaskView(*values(row)) for row in rows.all()]


def _task(row: Mapping[str, Any]) -> TaskView:
    return TaskView(**{**row, "state": TaskState(row["state"])})


def _attempts(conn: Connection, asked: Mapping[str, object]) -> list[AttemptView]:
    of_all = {"spark": False, "task_ids": None, "map_indexes": None}
    rows = conn.execute(ATTEMPTS, {**of_all, **asked})
    values = values_of(AttemptView, rows.keys(), phase=Phase, outcome=optional(Outcome))
    return [AttemptView(*values(row)) for row in rows.all()]


def _histories(conn: Connection, asked: Mapping[str, object]) -> list[TaskHistory]:
    # Tasks come first: a task that has ended then has all the attempts that it will ever have.
    its = _tasks(conn, asked)
    return _with_attempts(its, _attempts(conn, asked))


def _with_attempts(its: Sequence[TaskView], attempts: Sequence[AttemptView]) -> list[TaskHistory]:
    own: dict[tuple[str, int], list[AttemptView]] = {}
    for attempt in attempts:
        own.setdefault((attempt.task_id, attempt.map_index), []).append(attempt)
    return [TaskHistory(it, own.get((it.task_id, it.map_index), [])) for it in its]
