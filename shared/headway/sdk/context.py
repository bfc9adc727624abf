"""The context: what a task and its templates know by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from headway.domain.interval import PriorRun
from headway.sdk import macros
from headway.sdk.exceptions import AirflowException
from headway.sdk.facts import RunFacts
from headway.sdk.old_names import LAZY, work_out
from headway.sdk.runtime import TaskRuntime
from headway.sdk.task_instance import DagRun, TaskInstance

if TYPE_CHECKING:
    from pendulum import DateTime

    from headway.sdk.definition import DAG
    from headway.sdk.operator import BaseOperator

SPARK: Final = "spark"

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

FORMATS: Final[dict[str, Callable[[datetime], str]]] = {
    "ds": lambda date: date.strftime("%Y-%m-%d"),
    "ds_nodash": lambda date: date.strftime("%Y%m%d"),
    "ts": lambda date: date.isoformat(),
    "ts_nodash": lambda date: date.strftime("%Y%m%dT%H%M%S"),
    "ts_nodash_with_tz": lambda date: date.isoformat().replace("-", "").replace(":", ""),
}
"""How a date is written under each name; templates have them as filters too."""


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


def build_context(operator: "BaseOperator", facts: RunFacts, runtime: TaskRuntime) -> Context:
    """Return the context in which `operator` runs.

    The dates are pendulum dates in UTC; `ds` and `ts` are the start of the data
    interval.  `params` are the DAG's, with the run's conf laid over them.
    """
    from headway.sdk.secrets import names_of  # which needs this module in its turn

    run = _dag_run(facts)
    ti = TaskInstance(
        task=operator,
        dag_run=run,
        try_number=facts.try_number,
        map_index=facts.map_index,
        state=facts.task_state,
        runtime=runtime,
    )
    values: dict[str, Any] = {
        **_of_run(operator.dag, run),
        "map_index": facts.map_index,
        "task": operator,
        "task_instance": ti,
        "ti": ti,
        "try_number": facts.try_number,
        **names_of(runtime),
    }
    return Context(values, runtime)


def build_run_context(dag: "DAG", facts: RunFacts, runtime: TaskRuntime) -> Context:
    """Return the context of what is called for a run: it is about no task."""
    return Context(_of_run(dag, _dag_run(facts)), runtime)


def _of_run(dag: "DAG | None", run: DagRun) -> dict[str, Any]:
    start = run.data_interval_start
    return {
        "dag": dag,
        "dag_run": run,
        "data_interval_end": run.data_interval_end,
        "data_interval_start": start,
        "logical_date": run.logical_date,
        "macros": macros,
        "params": {**(dag.params if dag else {}), **run.conf},
        "run_id": run.run_id,
        "schedule_date": run.schedule_date,
        **{name: write(start) for name, write in FORMATS.items()},
    }


def _dag_run(facts: RunFacts) -> DagRun:
    interval = facts.data_interval
    return DagRun(
        dag_id=facts.dag_id,
        run_id=facts.run_id,
        run_type=facts.run_type,
        conf=dict(facts.conf),
        logical_date=_utc(facts.logical_date or interval.start),
        data_interval_start=_utc(interval.start),
        data_interval_end=_utc(interval.end),
        run_after=_utc(facts.run_after or interval.end),
        start_date=_utc(facts.start_date) if facts.start_date else None,
        state=facts.run_state,
    )


def _utc(date: datetime) -> "DateTime":
    import pendulum

    at = date.astimezone(UTC)
    clock = at.hour, at.minute, at.second, at.microsecond
    return pendulum.DateTime(at.year, at.month, at.day, *clock, tzinfo=pendulum.UTC)
