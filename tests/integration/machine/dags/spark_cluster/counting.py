"""An application of its own: it counts as far as it is told to."""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("master", spark.sparkContext.master)  # noqa: T201
print("counted", spark.range(int(sys.argv[1])).count())  # noqa: T201
