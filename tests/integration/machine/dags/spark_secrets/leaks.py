"""Tasks whose UDFs print and raise the secret of a connection that the DAG is granted."""

from typing import Any

from headway.sdk import BaseHook, dag, task


@task.pyspark
def prints(spark: Any) -> None:
    from pyspark.sql.functions import udf

    password = BaseHook.get_connection("shop").password

    def show(number: int) -> int:
        print(f"printed {password}, the end of print", flush=True)  # noqa: T201 - as user code does
        return number

    spark.range(1).select(udf(show, "bigint")("id")).collect()


@task.pyspark
def raises(spark: Any) -> None:
    from pyspark.sql.functions import udf

    password = BaseHook.get_connection("shop").password

    def fail(number: int) -> int:
        raise ValueError(f"raised {password}, the end of raise")

    spark.range(1).select(udf(fail, "bigint")("id")).collect()


@dag(schedule=None)
def leaks() -> None:
    prints() >> raises()


leaks()
