"""Tasks with drivers of their own, which do some work and then wait to be told to end."""

from typing import Any

import work  # type: ignore[import-not-found]  # beside this file

from headway.sdk import SparkSubmitOperator, dag, task

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
FOLDER = "{{ params.folder }}"


@task.pyspark(mode="driver")
def drives(spark: Any, params: dict[str, str]) -> None:
    work.write_and_read(spark, f"{params['folder']}/driver")
    work.wait_for(f"{params['folder']}/go")
    spark.range(0, 10, 1, 5).foreach(print)  # right before the end


@dag(schedule=None, params={"folder": ""})
def watched() -> None:
    drives()
    SparkSubmitOperator(
        task_id="submits",
        application="work.py",
        application_args=[f"{FOLDER}/submit", f"{FOLDER}/go"],
        conf=QUICK,
    )


@dag(schedule=None, params={"folder": ""})
def unseen() -> None:
    """Run drivers that have no interface: with a log of the attempt's own, and without."""
    hidden = {**QUICK, "spark.ui.enabled": "false"}
    for name, more in (("logged", {}), ("unknown", {"spark.eventLog.enabled": "false"})):
        SparkSubmitOperator(
            task_id=name,
            application="work.py",
            application_args=[f"{FOLDER}/{name}"],
            conf={**hidden, **more},
        )


watched()
unseen()
