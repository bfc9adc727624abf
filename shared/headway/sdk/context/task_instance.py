"""The objects `ti` and `dag_run` of the context."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from headway.domain.arguments import RETURN_VALUE, JsonValue
from headway.domain.states import RunState, RunType, TaskState
from headway.sdk.authoring.expansion import check_expandable
from headway.sdk.authoring.xcom_arg import XComArg
from headway.sdk.exceptions import XComNotFound
from headway.sdk.running.task_runtime import TaskRuntime
from headway.sdk.xcoms.codec import decode_xcom, encode_xcom

if TYPE_CHECKING:
    from headway.sdk.authoring.operator import BaseOperator

MapIndexes: TypeAlias = int | Iterable[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DagRun:
    """The run that a task belongs to.  All dates are pendulum dates in UTC."""

    dag_id: str
    run_id: str
    run_type: RunType
    conf: Mapping[str, JsonValue]
    logical_date: datetime
    data_interval_start: datetime
    data_interval_end: datetime
    run_after: datetime
    start_date: datetime | None
    state: RunState

    @property
    def schedule_date(self) -> datetime:
        """When it was to run, at the earliest."""
        return self.run_after


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstance:
    """One attempt of a task, and its way to the XComs of its run.

    `map_index` is -1 for a task that is not mapped.  `fetched` are results of mapped tasks.
    """

    task: "BaseOperator"
    dag_run: DagRun
    try_number: int
    map_index: int
    state: TaskState
    runtime: TaskRuntime
    fetched: dict[tuple[str, str], list[Any]] = field(default_factory=dict, repr=False)

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self.task.task_id

    @property
    def dag_id(self) -> str:
        """The id of the DAG."""
        return self.dag_run.dag_id

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.dag_run.run_id

    def xcom_push(self, key: str, value: object) -> None:
        """Leave a value under `key` for other tasks."""
        encoded = encode_xcom(value, _named(self.task_id, key))
        if self.map_index < 0:
            check_expandable(self.task, key, value)
        self.runtime.push_xcom(key, encoded)

    def xcom_pull(
        self,
        task_ids: str | Iterable[str] | None = None,
        key: str = RETURN_VALUE,
        default: Any = None,
        *,
        map_indexes: MapIndexes = None,
    ) -> Any:
        """Return what a task of this run left under `key`, or `default`.

        A mapped task gives the list of what its instances left, in the order of their
        map_index; `map_indexes` chooses one, or some, of them.  Several ids give one list.
        No id means this task itself: the instance that runs.
        """
        if task_ids is None or isinstance(task_ids, str):
            return self._left(task_ids, key, default, map_indexes)
        found: list[Any] = []
        for task_id in task_ids:
            left = self._left(task_id, key, default, map_indexes)
            lists = isinstance(map_indexes, Iterable) or (
                map_indexes is None and self._is_mapped(task_id)
            )
            found += left if lists and isinstance(left, list) else [left]
        return found

    def resolve(self, output: XComArg) -> Any:
        """Return the value of another task's output; a task that returned nothing gives None.

        The output of a mapped task is the list of what its instances left.
        """
        task_id, key = output.operator.task_id, output.key
        if output.operator.is_mapped:
            return self._results(task_id, key)
        try:
            stored = self.runtime.pull_xcom(task_id, key)
        except KeyError:
            if key == RETURN_VALUE:
                return None
            raise XComNotFound(
                f"Task {self.task_id!r} needs the XCom {key!r} of task {task_id!r}, which left "
                "none; push it there, or return a dictionary with @task(multiple_outputs=True)."
            ) from None
        return decode_xcom(stored, _named(task_id, key))

    def _left(self, task_id: str | None, key: str, default: Any, map_indexes: MapIndexes) -> Any:
        if map_indexes is None and task_id is None:
            return self._left_by(self.task_id, key, default, self.map_index)
        task_id = task_id or self.task_id
        if isinstance(map_indexes, Iterable):
            return [self._left_by(task_id, key, default, index) for index in map_indexes]
        if map_indexes is None and self._is_mapped(task_id):
            return self._results(task_id, key)
        return self._left_by(task_id, key, default, -1 if map_indexes is None else map_indexes)

    def _left_by(self, task_id: str, key: str, default: Any, map_index: int) -> Any:
        try:
            stored = self.runtime.pull_xcom(task_id, key, map_index)
        except KeyError:
            return default
        return decode_xcom(stored, _named(task_id, key))

    def _results(self, task_id: str, key: str) -> list[Any]:
        if (task_id, key) not in self.fetched:
            stored = self.runtime.pull_xcoms(task_id, key)
            self.fetched[task_id, key] = [decode_xcom(it, _named(task_id, key)) for it in stored]
        return list(self.fetched[task_id, key])

    def _is_mapped(self, task_id: str) -> bool:
        tasks = self.task.dag.task_dict if self.task.dag else {}
        return task_id in tasks and tasks[task_id].is_mapped


def _named(task_id: str, key: str) -> str:
    return f"The XCom {key!r} of task {task_id!r}"
