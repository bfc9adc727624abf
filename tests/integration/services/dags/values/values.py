"""Values that go from task to task, and values that cannot."""

import os
from typing import Any

from headway.sdk import DAG, BashOperator, PythonOperator, task

with DAG("values"):

    @task
    def numbers() -> list[Any]:
        return [1, 2.5, None, "élan", {"deep": [True]}]

    @task
    def several() -> dict[str, Any]:
        return {"path": "/data", "rows": 7}

    @task(multiple_outputs=True)
    def several_by_option() -> Any:
        return {"path": "/other"}

    @task(do_xcom_push=False)
    def kept_to_itself() -> str:
        return "nobody sees this"

    @task
    def nothing() -> None:
        return None

    @task
    def push(ti: Any) -> None:
        ti.xcom_push("colour", "red")
        ti.xcom_push("colour", "green")

    @task
    def pull(given: Any, path: str, none: Any, ti: Any = None) -> Any:
        return {
            "given": given,
            "path": path,
            "none": none,
            "pulled": ti.xcom_pull("push", key="colour"),
            "many": ti.xcom_pull(["several", "numbers"], key="rows", default="?"),
            "missing": ti.xcom_pull("push", key="taste", default="sweet"),
        }

    received = pull(given=numbers(), path=several()["path"], none=nothing())
    push() >> received
    several_by_option()
    kept_to_itself()
    command = BashOperator(task_id="bash", bash_command="echo plain; echo last line")
    BashOperator(task_id="of_output", bash_command="echo got {{ ti.xcom_pull('bash') }}") << command
    PythonOperator(task_id="of_argument", python_callable=str.upper, op_args=[command.output])

with DAG("impossible_values"):

    @task
    def too_large() -> str:
        return "x" * (2**20 - 1)

    @task
    def large_enough() -> str:
        return "x" * (2**20 - 2)

    @task
    def too_large_push(ti: Any) -> None:
        ti.xcom_push("blob", ["x" * 2**20])

    @task
    def no_form() -> Any:
        return {"at": [object()]}

    @task
    def no_number() -> float:
        return float("nan")

    @task
    def missing_key(value: Any) -> None:
        raise AssertionError(value)

    for make in (too_large, large_enough, too_large_push, no_form, no_number):
        make()
    missing_key(PythonOperator(task_id="empty", python_callable=dict).output["path"])


with DAG("others"):

    @task
    def leaves(run_id: str = "") -> str:
        return run_id

    @task
    def looks(ti: Any = None, dag_run: Any = None) -> Any:
        return {
            "theirs": ti.xcom_pull("several", dag_id="values", include_prior_dates=True),
            "before": ti.xcom_pull("looks", include_prior_dates=True),
            "named": ti.xcom_pull("leaves", run_id=dag_run.conf.get("earlier")),
            "same": ti.xcom_pull("leaves", dag_id="values", default="none"),
            "attempt": os.environ["AIRFLOW_CTX_TASK_ID"],
            "host": bool(ti.hostname) and ti.start_date is not None,
        }

    @task
    def asks_elsewhere(ti: Any = None) -> Any:
        return ti.xcom_pull("x", dag_id="nowhere")

    leaves() >> looks()
    asks_elsewhere()
