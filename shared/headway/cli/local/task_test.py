"""`headway tasks test`: one task in this process, with what is given for the others."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from headway.cli.local.given import LoneRuntime, XComKey, given_xcoms
from headway.cli.local.secrets import LocalSecrets
from headway.cli.local.trial_code import opened_dag
from headway.cli.local.trial_log import shown_log
from headway.cli.local.trial_spark import InProcessSpark
from headway.cli.local.trial_task import Trial, interval_of, run_facts, say
from headway.domain.arguments import JsonValue
from headway.domain.dag.mapping import map_length
from headway.domain.dag.names import instance_name
from headway.domain.errors import DagError, RequestError
from headway.domain.states import Outcome
from headway.runtime.settings.secret_keys import provided_here
from headway.sdk.harness.specification import to_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWanted:
    """Which task, for which interval, with which conf and XComs."""

    dag_id: str
    task_id: str
    date: str | None
    map_index: int
    conf: Mapping[str, JsonValue]
    xcoms: Mapping[XComKey, object]


def run_task(file: Path, wanted: TaskWanted, now: datetime) -> int:
    """Run one task, print what it left, and return 0; 1 when it fails."""
    task_id, map_index = wanted.task_id, wanted.map_index
    with opened_dag(file, wanted.dag_id) as (dag, code, path), shown_log(), ExitStack() as ending:
        spec, spark = to_spec(dag, path), InProcessSpark(ending)
        xcoms, mapped = given_xcoms(dag, wanted.xcoms)
        trial = Trial(
            dag=dag,
            facts=replace(
                run_facts(spec, interval_of(spec, wanted.date, now), wanted.conf, now), is_test=True
            ),
            spark=lambda key, stack: spark.access(key, code, stack),
            secrets=LocalSecrets(provided_here()),
            advise=lambda error: code.advice(error, path),
            runtime=LoneRuntime,
            xcoms=xcoms,
            mapped=mapped,
        )
        check_instance(trial, task_id, map_index)
        result = trial.attempt(task_id, map_index)
        for key, value in left_by(trial, task_id, map_index).items():
            say(instance_name(task_id, map_index), f"{key} = {json.dumps(value)}")
    return 1 if result.outcome is Outcome.FAILED else 0


def check_instance(trial: Trial, task_id: str, map_index: int) -> None:
    """Refuse an instance that the task does not have; a mapped task has one for each item."""
    task = trial.dag.get_task(task_id)
    if not task.is_mapped:
        if map_index >= 0:
            raise DagError(f"{task.where}: it is not mapped; leave out the map index {map_index}.")
        return
    if map_index < 0:
        raise DagError(f"{task.where}: it is mapped; say for which map index it shall run.")
    runtime = LoneRuntime(task_id, trial.xcoms, mapped=trial.mapped)
    inputs = task.map_inputs()
    sources = (source for each in inputs for source in each.sources())
    lengths = {source: runtime.xcom_length(*source) for source in sources}
    there = map_length(inputs, lengths)
    if map_index >= there:
        raise DagError(f"{task.where}: it has {there} instances; {map_index} is none of them.")


def left_by(trial: Trial, task_id: str, map_index: int) -> dict[str, JsonValue]:
    """Return the XComs that an instance has left, by key."""
    if map_index < 0:
        return {key: value for (name, key), value in trial.xcoms.items() if name == task_id}
    return {
        key: left[map_index]
        for (name, key), left in trial.mapped.items()
        if name == task_id and map_index in left
    }


def parse_xcoms(given: Sequence[str]) -> dict[XComKey, Any]:
    """Return the XComs of options like `land="/data"` and `land:rows=3`."""
    found: dict[XComKey, Any] = {}
    for text in given:
        whose, sign, value = text.partition("=")
        task_id, _, key = whose.partition(":")
        try:
            found[(task_id, key) if key else task_id] = json.loads(value)
        except (ValueError, RecursionError) as error:
            example = "--xcom 'land=\"/data/a.csv\"' or --xcom land:rows=3"
            why = f"{value!r} is no JSON ({error})" if sign else "it has no ="
            raise RequestError(f"--xcom {text}: {why}; write it like {example}.") from None
    return found


def parse_params(given: Sequence[str]) -> dict[str, Any]:
    """Return the params of options like `limit=3` and `carrier=UA`: JSON, else text."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise RequestError(f"--param {text} is not like name=value.")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return found
