"""The context: what a task and its templates know by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from headway.sdk import macros
from headway.sdk.exceptions import AirflowException
from headway.sdk.facts import RunFacts
from headway.sdk.runtime import TaskRuntime
from headway.sdk.task_instance import DagRun, TaskInstance

if TYPE_CHECKING:
    from pendulum import DateTime

    from headway.sdk.operator import BaseOperator

SPARK: Final = "spark"

CONTEXT_NAMES: Final = frozenset(
    {
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
        SPARK,
        "task",
        "task_instance",
        "ti",
        "try_number",
        "ts",
        "ts_nodash",
        "ts_nodash_with_tz",
    }
)
"""Every name of the context; a task function may declare parameters of these names."""

FORMATS: Final[dict[str, Callable[[datetime], str]]] = {
    "ds": lambda date: date.strftime("%Y-%m-%d"),
    "ds_nodash": lambda date: date.strftime("%Y%m%d"),
    "ts": lambda date: date.isoformat(),
    "ts_nodash": lambda date: date.strftime("%Y%m%dT%H%M%S"),
    "ts_nodash_with_tz": lambda date: date.isoformat().replace("-", "").replace(":", ""),
}
"""How a date is written under each name; templates have them as filters too."""


class Context(dict[str, Any]):
    """The context of one attempt.  `context["spark"]` opens the Spark session when asked for."""

    def __init__(self, values: dict[str, Any], runtime: TaskRuntime) -> None:
        super().__init__(values)
        self.runtime = runtime

    def __missing__(self, name: str) -> Any:
        if name != SPARK:
            raise KeyError(name)
        self[SPARK] = session = self.runtime.spark_session()
        return session


_current: ContextVar[Context | None] = ContextVar("context", default=None)


def get_current_context() -> Context:
    """Return the context of the task that is running."""
    context = _current.get()
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
    run = _dag_run(facts)
    ti = TaskInstance(
        task=operator,
        dag_run=run,
        try_number=facts.try_number,
        map_index=facts.map_index,
        runtime=runtime,
    )
    start = run.data_interval_start
    values: dict[str, Any] = {
        "dag": operator.dag,
        "dag_run": run,
        "data_interval_end": run.data_interval_end,
        "data_interval_start": start,
        "logical_date": run.logical_date,
        "macros": macros,
        "map_index": facts.map_index,
        "params": {**(operator.dag.params if operator.dag else {}), **facts.conf},
        "run_id": facts.run_id,
        "task": operator,
        "task_instance": ti,
        "ti": ti,
        "try_number": facts.try_number,
        **{name: write(start) for name, write in FORMATS.items()},
    }
    return Context(values, runtime)


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
    )


def _utc(date: datetime) -> "DateTime":
    import pendulum

    return pendulum.instance(date).in_timezone("UTC")
