"""Limits: pools, queues, active tasks, and what the run before allows."""

from time import sleep

import pendulum

from headway.sdk import DAG, EmptyOperator, task


@task
def busy() -> None:
    sleep(0.3)


with DAG("two_at_a_time", max_active_tasks=2):
    for number in range(5):
        busy.override(task_id=f"task_{number}")()

with DAG("by_priority"):
    for weight in (1, 5, 3, 4, 2):
        EmptyOperator(task_id=f"weight_{weight}", pool="narrow", priority_weight=weight)

with DAG("wide_and_slim", default_args={"pool": "three"}):
    for number in range(3):
        busy.override(task_id=f"wide_{number}", pool_slots=2)()
        busy.override(task_id=f"slim_{number}")()
    EmptyOperator(task_id="too_wide", pool_slots=4)

with DAG("nobody_listens"):
    EmptyOperator(task_id="elsewhere", queue="gpu")
    EmptyOperator(task_id="here")

with DAG(
    "on_the_past",
    schedule="@daily",
    start_date=pendulum.datetime(2013, 1, 1),
    end_date=pendulum.datetime(2013, 1, 1),
    is_paused_upon_creation=False,
):

    @task(depends_on_past=True)
    def strict(ds: str) -> None:
        sleep(0.2)
        if ds == "2013-01-03":
            raise RuntimeError("a bad day")

    strict()
    EmptyOperator(task_id="loose")
