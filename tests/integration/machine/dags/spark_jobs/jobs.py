"""What tasks do in Spark: with a helper of their bundle, in an application, and for too long."""

from datetime import timedelta
from typing import Any

import arithmetic  # type: ignore[import-not-found]  # beside this file

from headway.sdk import SparkSubmitOperator, dag, task

QUICK_JAVA = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@task.pyspark
def cubes(spark: Any) -> list[int]:
    from pyspark.sql.functions import udf

    cube = udf(arithmetic.cube, "bigint")
    return [row[0] for row in spark.range(4).select(cube("id")).collect()]


@task.pyspark(execution_timeout=timedelta(seconds=30))
def beats_for_ever(spark: Any, params: dict[str, str]) -> None:
    from pyspark.sql.functions import udf

    beats = params["beats"]
    beat = udf(lambda _: arithmetic.beat_for_ever(beats), "string")
    spark.range(1).select(beat("id")).collect()


@dag(schedule=None)
def helped() -> None:
    cubes()


@dag(schedule=None, params={"count": 1000})
def submitted() -> None:
    SparkSubmitOperator(
        task_id="submit",
        application="application.py",
        application_args=["{{ params.count }}"],
        conf=QUICK_JAVA,
    )


@dag(schedule=None)
def failing() -> None:
    SparkSubmitOperator(
        task_id="submit",
        application="application.py",
        application_args=["none"],
        conf=QUICK_JAVA,
    )


@dag(schedule=None, params={"beats": ""})
def overdue() -> None:
    beats_for_ever()
    SparkSubmitOperator(
        task_id="submit",
        application="endless_application.py",
        conf=QUICK_JAVA,
        execution_timeout=timedelta(seconds=30),
    )


for each in (helped, submitted, failing, overdue):
    each()
