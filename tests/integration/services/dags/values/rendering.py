"""Templates: what they know, and one that does not render."""

from typing import Any

import pendulum

from headway.sdk import DAG, BashOperator, PythonOperator

NAMES = (
    "ds",
    "ds_nodash",
    "ts",
    "ts_nodash",
    "ts_nodash_with_tz",
    "data_interval_start",
    "data_interval_end",
    "logical_date",
    "run_id",
    "dag_run.run_type",
    "dag_run.conf",
    "params.limit",
    "dag.dag_id",
    "task.task_id",
    "ti.try_number",
    "macros.ds_add(ds, 5)",
    "data_interval_end | ds",
)


def give_back(**given: Any) -> dict[str, Any]:
    return given["values"]  # type: ignore[no-any-return]


with DAG(
    "templates",
    schedule="@daily",
    start_date=pendulum.datetime(2013, 1, 1, tz="America/New_York"),
    params={"limit": 3},
    is_paused_upon_creation=False,
    end_date=pendulum.datetime(2013, 1, 1, tz="America/New_York"),
):
    PythonOperator(
        task_id="all_names",
        python_callable=give_back,
        op_kwargs={"values": {name: f"{{{{ {name} }}}}" for name in NAMES}},
    )
    BashOperator(
        task_id="bash",
        bash_command="echo {{ ds }} {{ params.limit }} $DAY",
        env={"DAY": "{{ data_interval_start.in_timezone('America/New_York').day_of_week }}"},
        append_env=True,
    )

with DAG("broken_templates"):
    BashOperator(task_id="unknown_name", bash_command="echo fine\necho {{ data_interval_stat }}")
    BashOperator(task_id="no_syntax", bash_command="echo {{ ds")
    BashOperator(task_id="unknown_param", bash_command="echo {{ params.carrier }}", retries=0)
