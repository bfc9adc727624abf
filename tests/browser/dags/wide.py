"""More tasks than a page has rows of a grid."""

import pendulum

from headway.sdk import dag, task


@dag(schedule=None, start_date=pendulum.datetime(2024, 5, 1, tz="UTC"), max_active_tasks=200)
def wide() -> None:
    for number in range(130):

        @task.python(task_id=f"step_{number:03}", pool="wide")
        def step() -> None:
            return None

        step()


wide()
