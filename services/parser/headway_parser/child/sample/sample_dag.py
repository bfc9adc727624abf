"""A DAG file that uses what most of them use."""

from datetime import timedelta

import pendulum
from sample_commands import COMMANDS  # type: ignore[import-not-found]

from headway.sdk import DAG, BashOperator, chain, task

with DAG(
    "sample",
    schedule="@daily",
    start_date=pendulum.datetime(2024, 1, 1, tz="UTC"),
    default_args={"retries": 1, "retry_delay": timedelta(minutes=1)},
    tags=["sample"],
):

    @task
    def count(day: str = "{{ ds }}") -> int:
        """Return a number."""
        return len(day)

    numbers = [
        BashOperator(task_id=f"echo_{number}", bash_command=command)
        for number, command in enumerate(COMMANDS)
    ]
    chain(*numbers, count("{{ ds }}"))
    numbers[0] >> numbers[2]
