"""An application that never ends by itself."""

from threading import Event

from pyspark.sql import SparkSession

print("begun", flush=True)  # noqa: T201
spark = SparkSession.builder.getOrCreate()
spark.range(10).count()
Event().wait()
