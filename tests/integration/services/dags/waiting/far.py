"""A task on a Spark Connect server that is not there."""

from datetime import timedelta

from headway.sdk import dag, task


@dag(schedule=None)
def far() -> None:
    @task.pyspark(conn_id="nowhere", retries=1, retry_delay=timedelta(0))
    def counts(spark) -> int:  # type: ignore[no-untyped-def]
        return int(spark.range(5).count())

    counts()


far()
