"""As many tasks as a test says: more than a page has rows of a grid, or fewer."""

import pendulum

from headway.sdk import dag, task

TASKS = 60


@dag(schedule=None, start_date=pendulum.datetime(2024, 5, 1, tz="UTC"), max_active_tasks=200)
def sizes() -> None:
    for number in range(TASKS):

        @task.python(task_id=f"part_{number:02}", pool="wide")
        def part() -> None:
            return None

        part()


sizes()
