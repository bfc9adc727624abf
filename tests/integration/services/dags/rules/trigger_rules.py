"""Every trigger rule below every kind of upstream end, and rules that need not wait for all."""

from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, EmptyOperator, TriggerRule, task
from headway.sdk.exceptions import AirflowFailException, AirflowSkipException


@task
def ok() -> None:
    return


@task
def bad() -> None:
    raise AirflowFailException("as it should")


@task
def skip() -> None:
    raise AirflowSkipException("as it should")


with DAG("every_rule", max_active_tasks=64):
    ends = {make.function.__name__: make() for make in (ok, bad, skip)}
    for rule in TriggerRule:
        for name, upstream in ends.items():
            upstream >> EmptyOperator(task_id=f"{rule}.{name}", trigger_rule=rule)
        list(ends.values()) >> EmptyOperator(task_id=f"{rule}.mixed", trigger_rule=rule)

with DAG("early_rules"):

    @task(execution_timeout=30)
    def slow(params: dict[str, Any]) -> None:
        """Wait for those that must not wait for this task."""
        while len(list(Path(params["folder"]).iterdir())) < 4:
            sleep(0.05)

    @task
    def note(params: dict[str, Any], task: Any) -> None:
        (Path(params["folder"]) / task.task_id).touch()

    late = slow()
    early = {"one_success": ok(), "one_done": ok(), "one_failed": bad(), "always": ok()}
    for rule_name, upstream in early.items():
        noting = note.override(task_id=rule_name, trigger_rule=rule_name)()
        [upstream, late] >> noting
