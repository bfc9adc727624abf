"""How a task or a DAG ended in a test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.domain.states import RunState, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """How one task instance ended: `assert result.state == "success"`.

    `xcoms` are what it left, by key; `return_value` is what it returned, of these.  `log` is
    what it printed and logged.  `error` says why it failed, or why it was skipped.
    `task_state` is what it keeps in its state store, by key.
    """

    task_id: str
    map_index: int = -1
    state: TaskState
    error: str | None = None
    xcoms: Mapping[str, Any] = field(default_factory=dict)
    return_value: Any = None
    task_state: Mapping[str, Any] = field(default_factory=dict)
    log: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DagResult:
    """How a run of a DAG ended: `assert result.state == "success"`.

    `states` are those of all task instances.  `tasks` are the results of those that ran; an
    instance of a mapped task is called `double[0]` in both.  `xcoms` are what tasks left, by
    task and then by key; of a mapped task, in a list.  `log` is what the whole run printed.
    """

    dag_id: str
    state: RunState
    states: Mapping[str, TaskState]
    tasks: Mapping[str, TaskResult] = field(repr=False)
    xcoms: Mapping[str, Mapping[str, Any]] = field(repr=False)
    log: str = field(default="", repr=False)

    @property
    def errors(self) -> dict[str, str]:
        """Why task instances failed, by their names."""
        return {
            name: task.error or ""
            for name, task in self.tasks.items()
            if task.state is TaskState.FAILED
        }
