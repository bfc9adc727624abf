"""Tasks whose Java virtual machine ends for its memory, in each place where they may have one."""

from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any

import work  # type: ignore[import-not-found]  # beside this file

from headway.sdk import SparkSubmitOperator, dag, task

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
AGAIN: dict[str, Any] = {"retries": 1, "retry_delay": timedelta(0)}


@task.pyspark(**AGAIN)
def in_the_server(spark: Any, params: dict[str, str]) -> int:
    return int(work.too_much_at_first(spark, params["folder"], params["how"]))


@task.pyspark(mode="driver", **AGAIN)
def in_a_driver(spark: Any, params: dict[str, str]) -> int:
    return int(work.too_much_at_first(spark, params["folder"], params["how"]))


@task
def waits(params: dict[str, str]) -> None:
    while not (Path(params["folder"]) / "go").exists():
        sleep(0.05)


@dag(schedule=None, params={"folder": "", "how": ""})
def server() -> None:
    in_the_server()


@dag(schedule=None, params={"folder": "", "how": ""})
def driver() -> None:
    in_a_driver()


@dag(schedule=None, params={"folder": "", "how": ""})
def submission() -> None:
    SparkSubmitOperator(
        task_id="in_an_application",
        application="application.py",
        application_args=["{{ params.folder }}", "{{ params.how }}"],
        conf=QUICK,
        **AGAIN,
    )


@dag(schedule=None, params={"folder": ""})
def canary() -> None:
    waits()


for each in (server, driver, submission, canary):
    each()
