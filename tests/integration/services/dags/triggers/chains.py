"""DAGs that trigger another one: by the name that Airflow has for it, and by Headway's."""

from typing import Any

from airflow.operators.trigger_dagrun import (  # type: ignore[import-not-found]
    TriggerDagRunOperator as AirflowsOperator,
)

from headway.sdk import DAG, TriggerDagRunOperator, task

with DAG("target", schedule=None, params={"fail": False, "n": 0}):

    @task
    def work(params: dict[str, object]) -> object:
        if params["fail"]:
            raise ValueError("as it was told")
        return params["n"]

    work()

with DAG("chain", schedule=None):

    @task
    def read(target: str, ti: Any = None) -> object:
        return ti.xcom_pull(task_ids="work", dag_id="target", run_id=target)

    go = AirflowsOperator(
        task_id="go",
        trigger_dag_id="target",
        trigger_run_id="{{ run_id }}",
        conf={"n": 7},
        wait_for_completion=True,
        poke_interval=0.05,
    )
    go >> read("{{ ti.xcom_pull(task_ids='go', key='trigger_run_id') }}")

    TriggerDagRunOperator.partial(task_id="each", trigger_dag_id="target").expand(
        conf=[{"n": 1}, {"n": 2}, {"n": 3}]
    )
    TriggerDagRunOperator(
        task_id="fails",
        trigger_dag_id="target",
        conf={"fail": True},
        wait_for_completion=True,
        poke_interval=0.05,
    )
    TriggerDagRunOperator(task_id="nobody", trigger_dag_id="none")

with DAG("repeat", schedule=None):
    TriggerDagRunOperator(
        task_id="again",
        trigger_dag_id="target",
        trigger_run_id="one and the same",
        reset_dag_run=True,
        wait_for_completion=True,
        poke_interval=0.05,
    ) >> TriggerDagRunOperator(
        task_id="skips",
        trigger_dag_id="target",
        trigger_run_id="one and the same",
        skip_when_already_exists=True,
    )
