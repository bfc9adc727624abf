"""One run of a DAG in running services, as a test looks at it."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection, text

from headway.db.execution import xcoms
from headway.db.reads import run_views, task_views
from headway.db.reads.run_views import RunView
from headway.db.reads.task_views import AttemptView, TaskView
from headway.domain.arguments import RETURN_VALUE, JsonValue
from headway.runtime.logs.lines import LogLine, decode, rendered
from headway.runtime.logs.paths import LogKey, logs_folder

if TYPE_CHECKING:
    from headway.testing.services.stack import Services

KEY = text("SELECT id FROM dag_run WHERE dag_id = :dag_id AND run_id = :run_id")


@dataclass(frozen=True, slots=True)
class StackRun:
    """A run; every method looks at how it stands now."""

    stack: "Services"
    dag_id: str
    run_id: str

    @property
    def row(self) -> RunView:
        """The run itself."""
        with self.stack.engine.connect() as conn:
            return self._row(conn)

    @property
    def state(self) -> str:
        """The state of the run."""
        return str(self.row.state)

    def wait(self) -> Self:
        """Wait until the run has ended."""
        self.stack.until(lambda conn: self._row(conn).ended_at, f"the end of {self.run_id}")
        return self

    def wait_for_task(self, task_id: str, state: str) -> Self:
        """Wait until a task is in that state."""

        def is_there(conn: Connection) -> bool:
            rows = task_views.tasks(conn, self.dag_id, self.run_id)
            return any((row.task_id, row.state) == (task_id, state) for row in rows)

        self.stack.until(is_there, f"task {task_id} of {self.dag_id} in state {state}")
        return self

    def tasks(self) -> dict[str, TaskView]:
        """Return the task instances by task id."""
        with self.stack.engine.connect() as conn:
            rows = task_views.tasks(conn, self.dag_id, self.run_id)
        return {row.task_id: row for row in rows}

    def states(self) -> dict[str, str]:
        """Return the state of every task."""
        return {task_id: row.state for task_id, row in self.tasks().items()}

    def attempts(self, task_id: str | None = None) -> list[AttemptView]:
        """Return the attempts of one task, or of all."""
        with self.stack.engine.connect() as conn:
            return task_views.attempts(conn, self.dag_id, self.run_id, task_id)

    def attempt(self, task_id: str) -> AttemptView:
        """Return the one attempt of a task."""
        (row,) = self.attempts(task_id)
        return row

    def order(self) -> list[str]:
        """Return the tasks in the order in which their attempts started."""
        started: list[tuple[datetime, str]] = [
            (row.started_at, row.task_id) for row in self.attempts() if row.started_at
        ]
        return [task_id for _, task_id in sorted(started)]

    def xcom(self, task_id: str, key: str = RETURN_VALUE) -> JsonValue:
        """Return what a task has left; KeyError when nothing."""
        with self.stack.engine.connect() as conn:
            run = conn.execute(KEY, {"dag_id": self.dag_id, "run_id": self.run_id}).scalar_one()
            value = xcoms.pull(conn, run, task_id, key)
        if value is None:
            raise KeyError(task_id, key)
        return value[0]

    def log(self, task_id: str, attempt: int = 1) -> str:
        """Return the log of an attempt as a person reads it."""
        lines = [text for line in self.log_lines(task_id, attempt) for text in rendered(line)]
        return "".join(f"{line}\n" for line in lines)

    def log_lines(self, task_id: str, attempt: int = 1) -> list[LogLine]:
        """Return the log of an attempt, line by line."""
        key = LogKey(self.dag_id, self.run_id, task_id, -1, attempt)
        content = (logs_folder(self.stack.home) / key.relative).read_bytes()
        return [decode(line) for line in content.splitlines()]

    def _row(self, conn: Connection) -> RunView:
        found = run_views.run(conn, self.dag_id, self.run_id)
        assert found is not None, f"{self.dag_id} has no run {self.run_id}"
        return found
