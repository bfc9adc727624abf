"""Options of tasks as attributes: read as they were given, and changed by assignment."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from headway.domain.dag.spec import TaskSpec
from headway.domain.errors import DagError
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.task_options import RENAMED, STORED
from headway.sdk.values.params import declared

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.groups.task_group import TaskGroup
    from headway.sdk.authoring.operator import BaseOperator

_FIELDS: Final = "spec_fields"
_DURATIONS: Final = frozenset({"retry_delay", "max_retry_delay", "execution_timeout"})


class OptionAttribute:
    """An option that is part of the task's specification: what is assigned changes that.

    Before the task is specified, in a constructor that has not called its base's, the
    attribute is like any other; the options that the base is given decide.
    """

    def __set_name__(self, _owner: type, name: str) -> None:
        self.name = name
        self.stored = RENAMED.get(name, name)

    def __get__(self, task: "BaseOperator | None", _owner: type) -> Any:
        if task is None:
            return self
        own = vars(task)
        if _FIELDS not in own:
            if self.name not in own:
                raise AttributeError(f"{type(task).__name__!r} has no {self.name!r} as yet.")
            return own[self.name]
        value = getattr(task.spec, self.stored)
        in_seconds = self.name in _DURATIONS and value is not None
        return timedelta(seconds=value) if in_seconds else value

    def __set__(self, task: "BaseOperator", value: object) -> None:
        own = vars(task)
        if _FIELDS not in own:
            own[self.name] = value
            return
        checked = STORED[self.name](value, f"{task.where}: {self.name}")
        task.change_spec(**{self.stored: checked})


class DateAttribute(OptionAttribute):
    """A date of the task's own, else that of its DAG."""

    def __get__(self, task: "BaseOperator | None", owner: type) -> Any:
        found = super().__get__(task, owner)
        if found is None and task is not None and task.dag is not None:
            return getattr(task.dag.spec, self.name)
        return found


class ParamsAttribute(OptionAttribute):
    """The params of a task: what is assigned takes the place of all of them."""

    def __set__(self, task: "BaseOperator", value: object) -> None:
        own = vars(task)
        if _FIELDS not in own:
            own[self.name] = value
            return
        task.change_spec(**declared(value, f"{task.where}: {self.name}"))


class CallbackAttribute:
    """An option that has functions to call: what is assigned takes the place of all of them."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self.name = name

    def __get__(self, task: "BaseOperator | None", _owner: type) -> Any:
        if task is None:
            return self
        if self.name == callbacks.ON_EXECUTE:
            return list(task.calls_first)
        return list(task.calls_on.get(callbacks.OF_TASK[self.name], ()))

    def __set__(self, task: "BaseOperator", value: object) -> None:
        try:
            given = callbacks.functions(value, self.name)
        except DagError as error:
            raise DagError(f"{task.where}: {error}") from None
        if self.name == callbacks.ON_EXECUTE:
            task.calls_first = given
            return
        calls = {**task.calls_on, callbacks.OF_TASK[self.name]: given}
        task.calls_on = {event: found for event, found in calls.items() if found}
        task.change_spec(callbacks=callbacks.events(task.calls_on))


class TaskAttributes:
    """What a task tells of itself, and what may be changed after it was made."""

    task_id: str
    dag: "DAG | None"
    task_group: "TaskGroup | None"
    spec_fields: dict[str, Any]
    """The fields of its specification that it was given."""
    upstream_task_ids: set[str]
    downstream_task_ids: set[str]
    _spec: TaskSpec | None = None

    retries = OptionAttribute()
    retry_delay = OptionAttribute()
    retry_exponential_backoff = OptionAttribute()
    max_retry_delay = OptionAttribute()
    retry_jitter = OptionAttribute()
    retry_on = OptionAttribute()
    fail_fast_on = OptionAttribute()
    execution_timeout = OptionAttribute()
    sla = OptionAttribute()
    notify = OptionAttribute()
    pool = OptionAttribute()
    pool_slots = OptionAttribute()
    priority_weight = OptionAttribute()
    weight_rule = OptionAttribute()
    max_active_tis_per_dag = OptionAttribute()
    max_active_tis_per_dagrun = OptionAttribute()
    on_lost = OptionAttribute()
    queue = OptionAttribute()
    trigger_rule = OptionAttribute()
    depends_on_past = OptionAttribute()
    start_date = DateAttribute()
    end_date = DateAttribute()
    task_display_name = OptionAttribute()
    map_index_template = OptionAttribute()
    doc_md = OptionAttribute()
    owner = OptionAttribute()
    params = ParamsAttribute()
    on_execute_callback = CallbackAttribute()
    on_success_callback = CallbackAttribute()
    on_failure_callback = CallbackAttribute()
    on_retry_callback = CallbackAttribute()
    on_skipped_callback = CallbackAttribute()

    @property
    def spec(self) -> TaskSpec:
        """What is stored of the task, but for its arguments and the tasks that it waits for.

        It is made when it is asked for: an attempt makes all tasks of its DAG, and runs one.
        """
        if self._spec is None:
            self._spec = TaskSpec(**self.spec_fields)
        return self._spec

    def change_spec(self, **fields: Any) -> None:
        """Change fields of the specification."""
        self.set_spec_fields({**self.spec_fields, **fields})

    def set_spec_fields(self, fields: dict[str, Any]) -> None:
        """Have these fields, and no other, in the specification."""
        self.spec_fields, self._spec = fields, None

    @property
    def log(self) -> logging.Logger:
        """The logger of the task's class: what it is told from INFO on is in the attempt's log."""
        return logging.getLogger(f"{type(self).__module__}.{type(self).__qualname__}")

    @property
    def dag_id(self) -> str:
        """The id of the task's DAG; AttributeError for a task that is in none."""
        if self.dag is None:
            raise AttributeError(f"The task {self.task_id!r} is in no DAG.")
        return self.dag.dag_id

    @property
    def node_id(self) -> str:
        """The id of the task."""
        return self.task_id

    @property
    def label(self) -> str:
        """What the task is called within its group."""
        prefix = self.task_group.child_id("") if self.task_group else ""
        return self.task_id.removeprefix(prefix)

    @property
    def task_type(self) -> str:
        """The name of the task's class."""
        return type(self).__name__

    @property
    def is_setup(self) -> bool:
        """Whether the task prepares what a teardown removes."""
        return self.spec.is_setup

    @property
    def is_teardown(self) -> bool:
        """Whether the task cleans up."""
        return self.spec.is_teardown

    @property
    def on_failure_fail_dagrun(self) -> bool:
        """Whether the run fails with the task, though that is a teardown."""
        return self.spec.on_failure_fail_dagrun

    @property
    def upstream_list(self) -> "list[BaseOperator]":
        """The tasks that it waits for, by their ids."""
        return self._tasks(self.upstream_task_ids)

    @property
    def downstream_list(self) -> "list[BaseOperator]":
        """The tasks that wait for it, by their ids."""
        return self._tasks(self.downstream_task_ids)

    def get_direct_relatives(self, upstream: bool = False) -> "list[BaseOperator]":
        """Return the tasks that wait for it; with `upstream` those that it waits for."""
        return self.upstream_list if upstream else self.downstream_list

    def get_direct_relative_ids(self, upstream: bool = False) -> set[str]:
        """Return the ids of the tasks that wait for it; with `upstream` of those it waits for."""
        return set(self.upstream_task_ids if upstream else self.downstream_task_ids)

    def _tasks(self, ids: Iterable[str]) -> "list[BaseOperator]":
        return [self.dag.task_dict[task_id] for task_id in sorted(ids)] if self.dag else []
