"""Stands for the file that chaos writes: its names and types."""

RECORDS = "/dev/null"
LEASE = 8.0
START = 0
END = 0
QUEUE = "default"
SPARK_QUEUE = "default"
