"""Tasks that decide what comes next, and tasks that prepare and clean up."""

from typing import Any

from headway.sdk import (
    DAG,
    BashOperator,
    BranchPythonOperator,
    EmptyOperator,
    ShortCircuitOperator,
    TriggerRule,
    setup,
    task,
    teardown,
)

with DAG("branching", params={"way": "left"}):

    @task.branch
    def choose(params: dict[str, Any]) -> Any:
        return params["way"]

    ways = [EmptyOperator(task_id=name) for name in ("left", "right")]
    behind = EmptyOperator(task_id="behind_right")
    join = EmptyOperator(task_id="join", trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS)
    choose() >> ways >> join
    ways[1] >> behind

with DAG("short_circuit", params={"go": False}):

    @task.short_circuit
    def gate(params: dict[str, Any]) -> Any:
        return params["go"]

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def lenient_gate(params: dict[str, Any]) -> Any:
        return params["go"]

    for opened, prefix in ((gate(), ""), (lenient_gate(), "lenient_")):
        direct = EmptyOperator(task_id=f"{prefix}direct")
        further = EmptyOperator(task_id=f"{prefix}further")
        whatever = EmptyOperator(task_id=f"{prefix}whatever", trigger_rule="all_done")
        opened >> direct >> [further, whatever]

with DAG("cleaning_up", params={"setup": True, "work": True, "teardown": True}):

    def succeed_if(wanted: bool) -> None:
        if not wanted:
            raise RuntimeError("as the run wanted it")

    @setup
    def prepare(params: dict[str, Any]) -> None:
        succeed_if(params["setup"])

    @task
    def work(params: dict[str, Any]) -> None:
        succeed_if(params["work"])

    @teardown
    def clean(params: dict[str, Any]) -> None:
        succeed_if(params["teardown"])

    prepared, cleaned = prepare(), clean()
    prepared >> work() >> cleaned
    prepared >> cleaned

with DAG("by_operators"):
    created = BashOperator(task_id="create", bash_command="true")
    branch = BranchPythonOperator(task_id="branch", python_callable=lambda: ["used", "gate"])
    used, unused = EmptyOperator(task_id="used"), EmptyOperator(task_id="unused")
    gate_closed = ShortCircuitOperator(task_id="gate", python_callable=lambda: None)
    broken = BashOperator(task_id="broken", bash_command="false")
    dropped = EmptyOperator(task_id="drop").as_teardown(setups=created)

    created >> branch >> [used, unused, gate_closed]
    gate_closed >> EmptyOperator(task_id="behind_gate")
    used >> broken >> dropped
