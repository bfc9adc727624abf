"""A DAG whose runs miss their deadline and whose task meets its SLA; a web server is told."""

from datetime import timedelta
from typing import Any

import pendulum
from place import END, QUEUE, START
from recorder import name, recorded, work

from headway.sdk import DAG, Notifier, task

with DAG(
    "late",
    schedule=timedelta(seconds=10),
    start_date=pendulum.from_timestamp(START, tz="UTC"),
    end_date=pendulum.from_timestamp(END, tz="UTC"),
    catchup=True,
    default_args={"retries": 50, "retry_delay": timedelta(seconds=0.5), "queue": QUEUE},
    deadline=timedelta(seconds=1),
    notify=Notifier("receiver", on="missed_deadline"),
):

    @task(sla=timedelta(hours=1))
    def slow(**context: Any) -> None:
        """Outlast the deadline of the run."""
        with recorded(name(context)):
            work(name(context), 2.0)

    slow()
