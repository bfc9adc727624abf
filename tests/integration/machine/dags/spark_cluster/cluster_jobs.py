"""Tasks whose Spark is a cluster, because their connection says so, or their mode."""

from datetime import timedelta
from typing import Any

import waiting  # type: ignore[import-not-found]  # beside this file

from headway.sdk import SparkSQLOperator, SparkSubmitOperator, dag, task

CLUSTER = "cluster"


@task.pyspark(conn_id=CLUSTER)
def looks_around(spark: Any) -> dict[str, Any]:
    """Say what kind of session this is, and what a UDF of the bundle finds."""
    from pyspark.sql.functions import udf

    cube = udf(lambda number: number**3, "bigint")
    return {
        "module": type(spark).__module__,
        "master": spark.sparkContext.master,
        "zone": spark.conf.get("spark.sql.session.timeZone"),
        "cubes": [row[0] for row in spark.range(4).select(cube("id")).collect()],
    }


@task.pyspark(mode="driver")
def drives(spark: Any) -> str:
    """Run in a driver of its own, though the connection is of the worker's own Spark."""
    return f"{spark.sparkContext.master} {spark.range(5).count()}"


def squares_of(spark: Any, folder: str) -> list[int]:
    from pyspark.sql.functions import udf

    square = udf(lambda number: waiting.square_once_told(number, folder), "bigint")
    return sorted(row[0] for row in spark.range(0, 2, 1, 2).select(square("id")).collect())


@task.pyspark(conn_id=CLUSTER, retries=1, retry_delay=timedelta(0))
def squares(spark: Any, params: dict[str, str]) -> list[int]:
    return squares_of(spark, params["folder"])


@task.pyspark(conn_id="connect_on_cluster")
def squares_on_connect(spark: Any, params: dict[str, str]) -> list[int]:
    return squares_of(spark, params["folder"])


@dag(schedule=None)
def on_a_cluster() -> None:
    looks_around()
    drives()
    SparkSQLOperator(
        task_id="asks",
        sql="CREATE TEMPORARY VIEW n AS SELECT * FROM range(10); SELECT sum(id) AS s FROM n",
        fetch_rows=1,
        conn_id=CLUSTER,
    )
    SparkSubmitOperator(
        task_id="submits", application="counting.py", application_args=[1000], conn_id=CLUSTER
    )


@dag(schedule=None, params={"folder": ""})
def waits() -> None:
    squares()


@dag(schedule=None, params={"folder": ""})
def waits_on_connect() -> None:
    squares_on_connect()


@dag(schedule=None, params={"folder": ""})
def waits_in_an_application() -> None:
    SparkSubmitOperator(
        task_id="squares_by_itself",
        application="squaring.py",
        application_args=["{{ params.folder }}"],
        py_files=["waiting.py"],
        conn_id=CLUSTER,
    )


for each in (on_a_cluster, waits, waits_on_connect, waits_in_an_application):
    each()
