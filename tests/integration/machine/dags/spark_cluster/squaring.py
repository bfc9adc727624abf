"""An application of its own: it squares two numbers, each in a task that waits for a file."""

import sys

import waiting  # type: ignore[import-not-found]  # among its py_files
from pyspark.sql import SparkSession

folder = sys.argv[1]
numbers = SparkSession.builder.getOrCreate().sparkContext.parallelize(range(2), 2)
print(numbers.map(lambda number: waiting.square_once_told(number, folder)).collect())  # noqa: T201
