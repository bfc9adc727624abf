"""A DAG whose runs clients of the API ask for."""

from datetime import timedelta
from typing import Any

import pendulum
from place import QUEUE, START
from recorder import name, recorded, work

from headway.sdk import DAG, task

with DAG(
    "asked",
    schedule=None,
    start_date=pendulum.from_timestamp(START, tz="UTC"),
    default_args={
        "retries": 50,
        "retry_delay": timedelta(seconds=0.5),
        "queue": QUEUE,
        "pool": "asked",
    },
):

    @task
    def done(**context: Any) -> None:
        """Take a moment."""
        with recorded(name(context)):
            work(name(context), 0.3)

    done()
