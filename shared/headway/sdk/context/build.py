"""Fill the context of a task, or of a run's templates."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from headway.domain.arguments import JsonValue
from headway.sdk.context import macros
from headway.sdk.context.state_store import TaskStateStore
from headway.sdk.context.task_instance import DagRun, TaskInstance
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import TaskRuntime

if TYPE_CHECKING:
    from pendulum import DateTime

    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.running.context import Context

FORMATS: Final[dict[str, Callable[[datetime], str]]] = {
    "ds": lambda date: date.strftime("%Y-%m-%d"),
    "ds_nodash": lambda date: date.strftime("%Y%m%d"),
    "ts": lambda date: date.isoformat(),
    "ts_nodash": lambda date: date.strftime("%Y%m%dT%H%M%S"),
    "ts_nodash_with_tz": lambda date: date.isoformat().replace("-", "").replace(":", ""),
}
"""How a date is written under each name; templates have them as filters too."""


def build_context(operator: "BaseOperator", facts: RunFacts, runtime: TaskRuntime) -> Context:
    """Return the context in which `operator` runs.

    The dates are pendulum dates in UTC; `ds` and `ts` are the start of the data
    interval.  `params` are the DAG's, with those of the task and
    then the run's conf laid over them.
    """
    from headway.sdk.context.secrets import names_of  # which needs this module in its turn

    run = _dag_run(facts)
    ti = TaskInstance(
        task=operator,
        dag_run=run,
        facts=facts,
        start_date=_known(facts.started_at),
        end_date=_known(facts.ended_at),
        runtime=runtime,
    )
    values: dict[str, Any] = {
        **_of_run(operator.dag, run, operator.spec.params),
        "map_index": facts.map_index,
        "task": operator,
        "task_instance": ti,
        "task_state_store": TaskStateStore(runtime),
        "task_instance_key_str": "__".join(
            (facts.dag_id, operator.task_id, FORMATS["ds_nodash"](run.data_interval_start))
        ),
        "templates_dict": None,
        "test_mode": facts.is_test,
        "ti": ti,
        "try_number": facts.try_number,
        **names_of(runtime),
    }
    return Context(values, runtime)


def build_run_context(dag: "DAG", facts: RunFacts, runtime: TaskRuntime) -> Context:
    """Return the context of what is called for a run: it is about no task."""
    return Context(_of_run(dag, _dag_run(facts)), runtime)


def _of_run(
    dag: "DAG | None", run: DagRun, params: Mapping[str, JsonValue] = MappingProxyType({})
) -> dict[str, Any]:
    start = run.data_interval_start
    return {
        "dag": dag,
        "dag_run": run,
        "data_interval_end": run.data_interval_end,
        "data_interval_start": start,
        "logical_date": run.logical_date,
        "macros": macros,
        "params": {**(dag.spec.params if dag else {}), **params, **run.conf},
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
        queued_at=_known(facts.queued_at),
        start_date=_known(facts.start_date),
        end_date=_known(facts.run_ended_at),
        state=facts.run_state,
    )


def _known(date: datetime | None) -> "DateTime | None":
    return None if date is None else _utc(date)


def _utc(date: datetime) -> "DateTime":
    import pendulum

    at = date.astimezone(UTC)
    clock = at.hour, at.minute, at.second, at.microsecond
    return pendulum.DateTime(at.year, at.month, at.day, *clock, tzinfo=pendulum.UTC)
