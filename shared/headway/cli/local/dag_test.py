"""`headway dags test` and `dag.test()`: one DAG run in this process, for the author of the DAG."""

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from headway.cli.local.given import given_secrets, object_in
from headway.cli.local.secrets import LocalSecrets
from headway.cli.local.trial_code import code_on_disk, opened_dag
from headway.cli.local.trial_log import shown_log
from headway.cli.local.trial_run import TestRun
from headway.cli.local.trial_spark import InProcessSpark
from headway.cli.local.trial_task import Trial, interval_of, run_facts, say
from headway.domain.arguments import JsonValue, encode_argument
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import DagError
from headway.domain.states import Outcome, RunState, TaskState
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings.secret_keys import provided_here
from headway.sdk.authoring.definition import DAG
from headway.sdk.context.build import build_run_context
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import LocalRuntime
from headway.sdk.values.trials import TrialOptions


def run_dag(
    file: Path, dag_id: str, date: str | None, conf: Mapping[str, JsonValue], now: datetime
) -> int:
    """Run the DAG for the interval that starts on that date, else for the last complete one.

    Return 0 when the run succeeds, 1 when it fails.
    """
    with opened_dag(file, dag_id) as (dag, code, path), shown_log(), ExitStack() as ending:
        spec, spark = to_spec(dag, path), InProcessSpark(ending)
        trial = Trial(
            dag=dag,
            facts=run_facts(spec, interval_of(spec, date, now), conf, now),
            spark=lambda key, stack: spark.access(key, code, stack),
            secrets=LocalSecrets(provided_here()),
            advise=lambda error: code.advice(error, path),
            retries=True,
        )
        state, _ = run_trial(trial, spec, trial.attempt)
    return 0 if state is RunState.SUCCESS else 1


def test_dag(dag: DAG, options: TrialOptions) -> Any:
    """Run a DAG as it is in this process: what `dag.test()` does.

    Its tasks have the author's own files.  Return the run; DagError when it fails.
    """
    given = _Wanted.of(dag, options)
    spec, now, code = to_spec(dag, ""), SystemClock().now(), cache(code_on_disk)
    interval = interval_of(spec, given.date, now)
    secrets = LocalSecrets(provided_here())
    with shown_log(), ExitStack() as ending:
        spark = InProcessSpark(ending)
        trial = Trial(
            dag=dag,
            facts=run_facts(spec, interval, given.conf, now, given.run_after),
            spark=lambda key, stack: spark.access(key, code(dag), stack),
            secrets=given_secrets(given.connections, given.variables, secrets),
            retries=True,
        )
        state, run = run_trial(trial, spec, _marking(trial, given.marked))
    if state is not RunState.SUCCESS:
        raise DagError(f"The run of DAG {dag.dag_id!r} has failed: {_failed(run)}.")
    facts = replace(trial.facts, run_state=state)
    return build_run_context(dag, facts, LocalRuntime(""))["dag_run"]


def run_trial(
    trial: Trial, spec: DagSpec, attempt: Callable[[str, int], Result]
) -> tuple[RunState, TestRun]:
    """Run a whole DAG, and tell of it; return how it ended, and its task instances."""
    clock, dag_id, interval = SystemClock(), spec.dag_id, trial.facts.data_interval
    started = clock.monotonic()
    print(f"{dag_id}: data interval {interval.start.isoformat()} to {interval.end.isoformat()}")
    run = TestRun(trial, spec, attempt)
    state = run.run()
    print(f"{dag_id}: {state} in {clock.monotonic() - started:.1f} s")
    return state, run


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What `dag.test()` was asked for, checked."""

    date: str | datetime | None
    run_after: datetime | None
    conf: Mapping[str, JsonValue]
    connections: Mapping[str, Any]
    variables: Mapping[str, Any]
    marked: re.Pattern[str] | None

    @classmethod
    def of(cls, dag: DAG, options: TrialOptions) -> "_Wanted":
        """Return the options with files read; an error for what has another form."""
        where = f"DAG {dag.dag_id!r}: test()"
        conf, pattern = options.get("run_conf") or {}, options.get("mark_success_pattern")
        encode_argument(conf, f"{where}: run_conf")
        for name in ("logical_date", "run_after"):
            date = options.get(name)
            if isinstance(date, datetime) and date.tzinfo is None:
                raise DagError(f'{where}: {name} needs a time zone, such as tz="UTC".')
        return cls(
            options.get("logical_date"),
            options.get("run_after"),
            conf,
            object_in(options.get("conn_file_path"), f"{where}: conn_file_path"),
            object_in(options.get("variable_file_path"), f"{where}: variable_file_path"),
            None if pattern is None else re.compile(pattern),
        )


def _marking(trial: Trial, marked: re.Pattern[str] | None) -> Callable[[str, int], Result]:
    """Return what runs an instance, unless its task is to count as successful without that."""

    def attempt(task_id: str, map_index: int) -> Result:
        if marked is None or marked.fullmatch(task_id) is None:
            return trial.attempt(task_id, map_index)
        say(task_id, "success, as mark_success_pattern says; it does not run")
        return Result(outcome=Outcome.SUCCESS)

    return attempt


def _failed(run: TestRun) -> str:
    """Return which tasks have failed; where none has, which could not run."""
    for state in (TaskState.FAILED, TaskState.UPSTREAM_FAILED):
        found = [name for name, states in run.states.items() if state in states.values()]
        if found:
            break
    return f"the {'tasks' if len(found) > 1 else 'task'} {', '.join(found)}"
