"""Daily DAGs of the past, whose tasks run until a test lets them end."""

from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, task


def of_the_past(dag_id: str) -> DAG:
    first, last = (datetime(2013, 1, day, tzinfo=UTC) for day in (1, 31))
    return DAG(dag_id, schedule="@daily", start_date=first, end_date=last, catchup=False)


def wait_for(params: dict[str, Any], name: str) -> None:
    while not (Path(params["folder"]) / name).exists():
        sleep(0.05)


with of_the_past("past"):

    @task
    def works(params: dict[str, Any], ds: str) -> None:
        wait_for(params, ds)

    works()

with of_the_past("live"):

    @task(pool="narrow")
    def holds(params: dict[str, Any]) -> None:
        wait_for(params, "go")

    holds()

with of_the_past("idle"):

    @task(pool="narrow")
    def fills(params: dict[str, Any]) -> None:
        wait_for(params, "go")

    fills()
