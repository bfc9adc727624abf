"""A sum by Spark, in a session that the worker's own server gives."""

from typing import Any

from headway.sdk import dag, task


@dag(schedule=None)
def sums() -> None:
    @task.pyspark
    def total(spark: Any) -> None:
        print("total", spark.range(1000).selectExpr("sum(id) AS total").collect()[0].total)

    total()


sums()
