"""Run a task or a DAG in the process of a test, with what the test gives it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypedDict, Unpack

from headway.cli.local.dag_test import run_trial
from headway.cli.local.given import (
    GivenConnection,
    LoneRuntime,
    XComKey,
    given_secrets,
    given_xcoms,
)
from headway.cli.local.task_test import check_instance, left_by
from headway.cli.local.trial_run import TestRun
from headway.cli.local.trial_task import STATES, Trial, interval_of, run_facts
from headway.domain.arguments import RETURN_VALUE, JsonValue, encode_argument
from headway.domain.dag.names import instance_name
from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.domain.states import TaskState
from headway.runtime.daemon.clock import SystemClock
from headway.sdk.authoring.definition import DAG
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.xcom_arg import XComArg
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import LocalRuntime
from headway.sdk.values import checks
from headway.sdk.values.state_store import check_state_key, check_state_value
from headway.sdk.xcoms.codec import decode_xcom
from headway.testing.authors.captured_log import captured_log
from headway.testing.authors.local_spark import spark_in_test
from headway.testing.authors.results import DagResult, TaskResult

_ALONE: Final = "test"
"""The DAG of a task that has none."""


class RunGiven(TypedDict, total=False):
    """What a test may give to a run; `now` is when the run starts, by a clock that stands still.

    `conf` is laid over the DAG's params.  A connection is a Connection, a URI, JSON text or a
    dictionary of fields.  Connections and variables that are not given do not exist.
    """

    conf: Mapping[str, JsonValue]
    connections: Mapping[str, GivenConnection]
    variables: Mapping[str, object]
    logical_date: datetime | str
    data_interval: tuple[datetime, datetime]
    now: datetime


class TaskGiven(RunGiven, total=False):
    """What a test may give to a task: also which instance it is, and what other tasks left.

    `xcoms` are by task id, for what the task returned, or by task id and key.  `try_number` is
    which attempt it is, and `task_state` what the attempts before it keep in the state store.
    """

    map_index: int
    try_number: int
    task_state: Mapping[str, object]
    xcoms: Mapping[XComKey, object]


def run_task(task: BaseOperator | XComArg, /, **given: Unpack[TaskGiven]) -> TaskResult:
    """Run one task, or one instance of a mapped task; other tasks do not run.

    Reading an XCom of a task for which none is given is an error.
    """
    operator = task.as_operator()
    checks.known(given, TaskGiven.__annotations__, f"run_task() of {operator.task_id!r}")
    dag = operator.dag or _alone(operator)
    trial = _trial(dag, given, LoneRuntime)
    trial.xcoms, trial.mapped = given_xcoms(dag, given.get("xcoms") or {})
    map_index = given.get("map_index", -1)
    check_instance(trial, operator.task_id, map_index)
    trial.stores[operator.task_id, map_index] = {
        check_state_key(key): check_state_value(key, value)
        for key, value in given.get("task_state", {}).items()
    }
    trial.facts = replace(trial.facts, try_number=given.get("try_number", 1))
    return _attempt(trial, operator.task_id, map_index)[1]


def run_dag(dag: DAG, /, **given: Unpack[RunGiven]) -> DagResult:
    """Run all tasks of a DAG in the order of a scheduler, each once.

    A task that fails and keeps something in its state store is tried again, at once, while it has
    retries left.
    """
    checks.known(given, RunGiven.__annotations__, f"run_dag() of {dag.dag_id!r}")
    spec, trial = to_spec(dag, ""), _trial(dag, given)
    trial.retries = True
    tasks: dict[str, TaskResult] = {}

    def attempt(task_id: str, map_index: int) -> Result:
        result, told = _attempt(trial, task_id, map_index)
        tasks[instance_name(task_id, map_index)] = told
        return result

    with captured_log() as log:
        state, run = run_trial(trial, spec, attempt)
    return DagResult(
        dag_id=dag.dag_id,
        state=state,
        states=_states(run),
        tasks=tasks,
        xcoms=_xcoms(trial),
        log=log.getvalue(),
    )


def _trial(dag: DAG, given: RunGiven, runtime: type[LocalRuntime] = LocalRuntime) -> Trial:
    conf, now = given.get("conf") or {}, given.get("now") or SystemClock().now()
    encode_argument(conf, "The conf")
    for name in ("logical_date", "now"):
        date = given.get(name)
        if isinstance(date, datetime) and date.tzinfo is None:
            raise DagError(f"{name}={date!r} needs a time zone, such as tzinfo=UTC.")
    asked = given.get("data_interval")
    interval = (
        DataInterval(*asked) if asked else interval_of(dag.spec, given.get("logical_date"), now)
    )
    return Trial(
        dag=dag,
        facts=run_facts(dag.spec, interval, conf, now),
        spark=spark_in_test(dag),
        secrets=given_secrets(given.get("connections") or {}, given.get("variables") or {}),
        runtime=runtime,
    )


def _alone(operator: BaseOperator) -> DAG:
    dag = DAG(_ALONE)
    dag.add_task(operator)
    return dag


def _attempt(trial: Trial, task_id: str, map_index: int) -> tuple[Result, TaskResult]:
    with captured_log() as log:
        result = trial.attempt(task_id, map_index)
    left = left_by(trial, task_id, map_index)
    xcoms = {key: decode_xcom(stored, f"The XCom {key!r}") for key, stored in left.items()}
    return result, TaskResult(
        task_id=task_id,
        map_index=map_index,
        state=STATES[result.outcome],
        error=result.error,
        xcoms=xcoms,
        return_value=xcoms.get(RETURN_VALUE),
        task_state=dict(trial.stores.get((task_id, map_index), {})),
        log=log.getvalue(),
    )


def _states(run: TestRun) -> dict[str, TaskState]:
    return {
        instance_name(task_id, map_index): state
        for task_id, states in run.states.items()
        for map_index, state in states.items()
    }


def _xcoms(trial: Trial) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for (task_id, key), stored in trial.xcoms.items():
        found.setdefault(task_id, {})[key] = decode_xcom(stored, f"The XCom {key!r}")
    for (task_id, key), left in trial.mapped.items():
        found.setdefault(task_id, {})[key] = [
            decode_xcom(left[map_index], f"The XCom {key!r}") for map_index in sorted(left)
        ]
    return found
