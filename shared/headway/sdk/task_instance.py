"""The objects `ti` and `dag_run` of the context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from headway.domain.arguments import RETURN_VALUE, JsonValue
from headway.domain.states import RunType
from headway.sdk.exceptions import XComNotFound
from headway.sdk.runtime import TaskRuntime
from headway.sdk.xcom import XCOM_LIMIT, check_xcom
from headway.sdk.xcom_arg import XComArg

if TYPE_CHECKING:
    from headway.sdk.operator import BaseOperator


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstance:
    """One attempt of a task, and its way to the XComs of its run."""

    task: "BaseOperator"
    dag_run: DagRun
    try_number: int
    map_index: int
    runtime: TaskRuntime

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
        """Leave a JSON value under `key` for other tasks."""
        where = f"The XCom {key!r} of task {self.task_id!r}"
        self.runtime.push_xcom(key, check_xcom(value, where, XCOM_LIMIT))

    def xcom_pull(
        self,
        task_ids: str | Sequence[str] | None = None,
        key: str = RETURN_VALUE,
        default: JsonValue = None,
    ) -> JsonValue:
        """Return what a task of this run left under `key`, or `default`.

        Several ids give a list; no id means this task itself.
        """
        if task_ids is not None and not isinstance(task_ids, str):
            return [self.xcom_pull(task_id, key, default) for task_id in task_ids]
        try:
            return self.runtime.pull_xcom(task_ids or self.task_id, key)
        except KeyError:
            return default

    def resolve(self, output: XComArg) -> JsonValue:
        """Return the value of another task's output; a task that returned nothing gives None."""
        task_id, key = output.operator.task_id, output.key
        try:
            return self.runtime.pull_xcom(task_id, key)
        except KeyError:
            if key == RETURN_VALUE:
                return None
            raise XComNotFound(
                f"Task {self.task_id!r} needs the XCom {key!r} of task {task_id!r}, which left "
                "none; push it there, or return a dictionary with @task(multiple_outputs=True)."
            ) from None
