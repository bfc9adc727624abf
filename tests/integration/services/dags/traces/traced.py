"""A run of two tasks: the first leaves what it finds in its environment, the second fails once."""

import os
from datetime import timedelta

from headway.sdk import dag, get_current_context, task


@dag(dag_id="traced", schedule=None)
def traced() -> None:
    @task
    def first() -> str:
        return os.environ["TRACEPARENT"]

    @task(retries=1, retry_delay=timedelta(seconds=0.1))
    def second(_parent: str) -> None:
        if get_current_context()["ti"].try_number == 1:
            raise RuntimeError("the first attempt fails")

    second(first())


traced()
