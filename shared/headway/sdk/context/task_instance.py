"""The objects `ti` and `dag_run` of the context."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import prod
from socket import gethostname
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Unpack

from headway.domain.arguments import RETURN_VALUE, JsonValue
from headway.domain.dag.mapping import input_length
from headway.domain.states import RunState, RunType, TaskState
from headway.sdk.authoring.expansion import Items, check_expandable
from headway.sdk.authoring.outputs.combined import CombinedArg
from headway.sdk.authoring.xcom_arg import XComArg
from headway.sdk.context.absent_names import (
    IN_PLACE_OF_INSTANCE,
    IN_PLACE_OF_RUN,
    no_such_name,
)
from headway.sdk.context.other_run import MapIndexes, OtherRun, WhichRun
from headway.sdk.exceptions import XComError, XComNotFound
from headway.sdk.running import page_addresses
from headway.sdk.running.context import Context, get_current_context
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.old_names import warn_of_old
from headway.sdk.running.task_runtime import RunName, TaskRuntime
from headway.sdk.xcoms.codec import decode_xcom, encode_xcom

if TYPE_CHECKING:
    from headway.sdk.authoring.operator import BaseOperator


class TaskInstanceKey(NamedTuple):
    """What names one attempt."""

    dag_id: str
    task_id: str
    run_id: str
    try_number: int
    map_index: int


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
    queued_at: datetime | None
    start_date: datetime | None
    end_date: datetime | None
    state: RunState

    @property
    def schedule_date(self) -> datetime:
        """When it was to run, at the earliest."""
        return self.run_after

    @property
    def external_trigger(self) -> bool:
        """Whether somebody has triggered it."""
        return self.run_type is RunType.MANUAL

    @property
    def execution_date(self) -> datetime:
        """The start of the data interval; an old name."""
        warn_of_old("dag_run.execution_date", "dag_run.data_interval_start")
        return self.data_interval_start

    def __getattr__(self, name: str) -> NoReturn:
        raise no_such_name("dag_run", name, _names_of(self), IN_PLACE_OF_RUN)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstance:
    """One attempt of a task, and its way to the XComs of its run.

    `map_index` is -1 for a task that is not mapped.  `fetched` are results of mapped tasks, and
    `group_items` the items of its mapped group, once they were read.
    """

    task: "BaseOperator"
    dag_run: DagRun
    facts: RunFacts = field(repr=False)
    start_date: datetime | None
    end_date: datetime | None
    runtime: TaskRuntime = field(repr=False)
    fetched: dict[tuple[str, str], list[Any]] = field(default_factory=dict, repr=False)
    group_items: list[Items] = field(default_factory=list, repr=False)

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

    @property
    def try_number(self) -> int:
        """The number of the attempt, from 1 on."""
        return self.facts.try_number

    @property
    def prev_attempted_tries(self) -> int:
        """How many attempts have begun, this one included."""
        return self.try_number

    @property
    def max_tries(self) -> int:
        """How many retries the task has."""
        retries: int = self.task.retries
        return retries

    @property
    def map_index(self) -> int:
        """The number of the instance of a mapped task, -1 for any other."""
        return self.facts.map_index

    @property
    def expanded_ti_count(self) -> int | None:
        """How many instances a mapped task has; None for any other."""
        inputs = self.task.map_inputs()
        if not inputs:
            return None
        sources = (source for each in inputs for source in each.sources())
        lengths = {source: self.runtime.xcom_length(*source) for source in sources}
        return prod(input_length(each, lengths) for each in inputs)

    @property
    def state(self) -> TaskState:
        """The state of the task."""
        return self.facts.task_state

    @property
    def duration(self) -> float | None:
        """How many seconds the attempt took; None before its end."""
        ends = self.start_date, self.end_date
        return None if None in ends else (ends[1] - ends[0]).total_seconds()  # type: ignore[operator]

    @property
    def hostname(self) -> str:
        """The host on which the attempt runs, or ran; empty if it is not known."""
        return gethostname() if self.facts.hostname is None else self.facts.hostname

    @property
    def operator(self) -> str:
        """The name of the task's class."""
        return self.task.task_type

    @property
    def queue(self) -> str:
        """The queue of the task."""
        return str(self.task.queue)

    @property
    def pool(self) -> str:
        """The pool of the task."""
        return str(self.task.pool)

    @property
    def pool_slots(self) -> int:
        """How many slots of the pool it takes."""
        return int(self.task.pool_slots)

    @property
    def priority_weight(self) -> int:
        """The weight of the task itself."""
        return int(self.task.priority_weight)

    @property
    def log(self) -> logging.Logger:
        """The logger of the task."""
        return self.task.log

    @property
    def key(self) -> TaskInstanceKey:
        """What names the attempt."""
        names = self.dag_id, self.task_id, self.run_id
        return TaskInstanceKey(*names, self.try_number, self.map_index)

    @property
    def log_url(self) -> str:
        """The page with the log of the attempt."""
        return page_addresses.log_page(self.facts)

    @property
    def mark_success_url(self) -> str:
        """The page that marks the task as a success."""
        return page_addresses.mark_success_page(self.facts)

    @property
    def execution_date(self) -> datetime:
        """The start of the data interval; an old name."""
        warn_of_old("ti.execution_date", "dag_run.data_interval_start")
        return self.dag_run.data_interval_start

    def current_state(self) -> TaskState:
        """Return the state of the task."""
        return self.state

    def get_dagrun(self) -> DagRun:
        """Return the run."""
        return self.dag_run

    def render(self, content: object, context: "Context") -> Any:
        """Return content with its templates rendered, also those in lists and dictionaries."""
        from headway.sdk.context.templates import render  # which needs this module in its turn

        return render(content, context, f"{self.task.where}: render_template()")

    def get_template_context(self) -> Context:
        """Return the context in which it runs."""
        return get_current_context()

    def __getattr__(self, name: str) -> NoReturn:
        raise no_such_name("ti", name, _names_of(self), IN_PLACE_OF_INSTANCE)

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
        **of: Unpack[WhichRun],
    ) -> Any:
        """Return what a task left under `key`, or `default`; by default a task of this run.

        A mapped task gives the list of what its instances left, in the order of their
        map_index; `map_indexes` chooses one, or some, of them.  Several ids give one list.
        No id means this task itself: of this run, the instance that runs.  Another run is that
        of `run_id`, or of the same id if only `dag_id` is given; with `include_prior_dates` it
        is the last one up to that run in which the task left something.
        """
        own = RunName(self.dag_id, self.run_id)
        other = OtherRun.named(self.runtime, own, of)

        def left(task_id: str | None) -> tuple[Any, bool]:
            if other is not None:
                return other.left(task_id or self.task_id, key, default, map_indexes)
            return self._left(task_id, key, default, map_indexes)

        if task_ids is None or isinstance(task_ids, str):
            return left(task_ids)[0]
        found: list[Any] = []
        for task_id in task_ids:
            value, several = left(task_id)
            found += value if several and isinstance(value, list) else [value]
        return found

    def resolve(self, output: XComArg) -> Any:
        """Return the value of another task's output; a task that returned nothing gives None.

        The output of a mapped task is the list of what its instances left; of one in the same
        mapped group it is what the instance with the same map index left.
        """
        if isinstance(output, CombinedArg):
            return output.values([self.resolve(part) for part in output.parts])
        task_id, key, map_index = output.operator.task_id, output.key, -1
        if output.operator.is_mapped:
            if not self._is_mate(output.operator):
                return self._results(task_id, key)
            map_index = self.map_index
        try:
            stored = self.runtime.pull_xcom(task_id, key, map_index)
        except KeyError:
            if key == RETURN_VALUE:
                return None
            raise XComNotFound(
                f"Task {self.task_id!r} needs the XCom {key!r} of task {task_id!r}, which left "
                "none; push it there, or return a dictionary with @task(multiple_outputs=True)."
            ) from None
        return decode_xcom(stored, _named(task_id, key))

    def output_of(self, task_id: str, key: str = RETURN_VALUE) -> Any:
        """Return what a task of this run left, as an argument of the task that runs has it."""
        assert self.task.dag is not None
        return self.resolve(XComArg(self.task.dag.get_task(task_id), key))

    def group_argument(self, name: str) -> Any:
        """Return the value that the instance has for an argument of its mapped group.

        XComError if the task is in no mapped group, or that has no such value.
        """
        group = self.task.mapped_group
        if group is None:
            raise XComError(
                f"Task {self.task_id!r} is in no mapped task group that could have an argument "
                f"{name!r}; pass the argument to a task in its group."
            )
        if not self.group_items:
            self.group_items.append(group.expansion.items(self.runtime, self.map_index))
        return group.argument(self.group_items[0], name)

    def _left(
        self, task_id: str | None, key: str, default: Any, map_indexes: MapIndexes
    ) -> tuple[Any, bool]:
        """Return what a task of this run left, and whether it is a list of instances' values."""
        if map_indexes is None and task_id is None:
            return self._left_by(self.task_id, key, default, self.map_index), False
        task_id = task_id or self.task_id
        if isinstance(map_indexes, Iterable):
            return [self._left_by(task_id, key, default, index) for index in map_indexes], True
        if map_indexes is None and self._is_mapped(task_id):
            return self._results(task_id, key), True
        index = -1 if map_indexes is None else map_indexes
        return self._left_by(task_id, key, default, index), False

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

    def _is_mate(self, other: "BaseOperator") -> bool:
        group = other.mapped_group
        return group is not None and group is self.task.mapped_group

    def _is_mapped(self, task_id: str) -> bool:
        tasks = self.task.dag.task_dict if self.task.dag else {}
        return task_id in tasks and tasks[task_id].is_mapped


def _names_of(record: DagRun | TaskInstance) -> list[str]:
    return [name for name in dir(type(record)) if not name.startswith("_")]


def _named(task_id: str, key: str) -> str:
    return f"The XCom {key!r} of task {task_id!r}"
