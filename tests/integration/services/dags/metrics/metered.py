"""DAGs whose runs give every metric something to count."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, task

SOON = timedelta(seconds=0.1)

with DAG("succeeds"):

    @task
    def many() -> list[int]:
        print("many")  # noqa: T201
        return [1, 2, 3]

    @task
    def each(number: int) -> int:
        return number

    each.expand(number=many())

with DAG("fails"):

    @task(retries=1, retry_delay=SOON)
    def fails() -> None:
        raise RuntimeError("no")

    fails()

with DAG("crowded"):

    @task(pool="narrow")
    def holds(params: dict[str, Any], map_index: int) -> None:
        while not (Path(params["folder"]) / "go").exists():
            sleep(0.02)

    @task
    def three() -> list[int]:
        return [1, 2, 3]

    @task(pool="narrow")
    def waits(number: int, params: dict[str, Any]) -> None:
        while not (Path(params["folder"]) / "go").exists():
            sleep(0.02)

    waits.expand(number=three())

with DAG("often", schedule=timedelta(seconds=3), start_date=datetime(2020, 1, 1, tzinfo=UTC)):

    @task
    def passes() -> None:
        pass

    passes()
