"""The context: what a task and its templates know by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Final

from headway.domain.interval import PriorRun
from headway.sdk.exceptions import AirflowException
from headway.sdk.running.old_names import LAZY, work_out
from headway.sdk.running.task_runtime import TaskRuntime

SPARK: Final = "spark"

_OF_TASKS: Final = frozenset({"task", "task_instance", "ti"})


CONTEXT_NAMES: Final = frozenset(
    {
        "conn",
        "dag",
        "dag_run",
        "data_interval_end",
        "data_interval_start",
        "ds",
        "ds_nodash",
        "logical_date",
        "macros",
        "map_index",
        "params",
        "run_id",
        "schedule_date",
        SPARK,
        "task",
        "task_instance",
        "task_instance_key_str",
        "task_state_store",
        "templates_dict",
        "test_mode",
        "ti",
        "try_number",
        "ts",
        "ts_nodash",
        "ts_nodash_with_tz",
        "var",
    }
)
"""Every name of the context; a task function may declare parameters of these names."""


ASKED_NAMES: Final = CONTEXT_NAMES | LAZY.keys()
"""These, and the names that are worked out, or warned of, when they are asked for."""


class Context(dict[str, Any]):
    """The context of one attempt.  `context["spark"]` opens the Spark session when asked for.

    So are `prev_schedule_date` and `next_schedule_date` worked out, and old names; and so is
    asked for the last run that succeeded, once, for all names of its dates to be of the same run.
    """

    def __init__(self, values: dict[str, Any], runtime: TaskRuntime) -> None:
        super().__init__(values)
        self.runtime = runtime

    @cached_property
    def last_success(self) -> PriorRun | None:
        """The last run of the DAG's schedule before this one that has succeeded."""
        return self.runtime.last_success()

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a name; those that are worked out count."""
        return super().__contains__(name) or (name in LAZY and self._is_about_a_run())

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name, worked out if need be, or `default` if there is no such."""
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`

    def _is_about_a_run(self) -> bool:
        return super().__contains__("data_interval_start")

    def __missing__(self, name: str) -> Any:
        if name in LAZY and self._is_about_a_run():
            return work_out(name, self)
        if name in _OF_TASKS:
            raise KeyError(
                f"{name!r} is not in the context of a callback of a run of which no task has "
                "begun. Ask `'ti' in context` first, or use context['dag_run']."
            )
        if name != SPARK:
            raise KeyError(name)
        task, runtime = self["task"], self.runtime
        opened = runtime.spark_driver if task.spark_driver else runtime.spark_session
        self[SPARK] = session = opened(task.spark_conn_id)
        return session


_current: ContextVar[Context | None] = ContextVar("context", default=None)


def running_context() -> Context | None:
    """Return the context of the task that is running, if one is."""
    return _current.get()


def get_current_context() -> Context:
    """Return the context of the task that is running."""
    context = running_context()
    if context is None:
        raise AirflowException("There is no context here; call it inside a task that is running.")
    return context


@contextmanager
def running_in(context: Context) -> Iterator[None]:
    """Make `context` the current one."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
