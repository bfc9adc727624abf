"""Groups of tasks: a few that run, and many of a DAG that is paused."""

import pendulum

from headway.sdk import DAG, EmptyOperator, TaskGroup, task

START = pendulum.datetime(2024, 5, 1, tz="UTC")

with DAG("parcels", schedule=None, start_date=START):
    with TaskGroup("north", tooltip="Parcels that go north") as north:
        EmptyOperator(task_id="weigh")
        with TaskGroup("customs"):

            @task(task_display_name="Declare what is in the parcel, and what it is worth")
            def declare() -> None:
                raise ValueError("There is no stamp")

            declare()

    north >> EmptyOperator(task_id="report")

with DAG("lanes", schedule=None, start_date=START, is_paused_upon_creation=True):
    for part in range(12):
        with TaskGroup(f"part_{part:02}"):
            for lane in range(5):
                EmptyOperator(task_id=f"lane_{lane}")
