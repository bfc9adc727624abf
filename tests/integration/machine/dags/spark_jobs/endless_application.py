"""An application that never ends by itself."""

from threading import Event

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("counted", spark.range(10).count(), flush=True)  # noqa: T201
Event().wait()
