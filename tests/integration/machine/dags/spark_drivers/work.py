"""A little work in Spark: 1000 rows written by four tasks, and read again.  Also an application."""

import sys
import time
from pathlib import Path
from typing import Any


def write_and_read(spark: Any, folder: str) -> None:
    spark.range(0, 1000, 1, 4).write.parquet(f"file://{folder}")
    assert spark.read.parquet(f"file://{folder}").count() == 1000


def wait_for(file: str) -> None:
    """Wait until that file is there, for minutes at most."""
    for _ in range(3000):
        if Path(file).exists():
            return
        time.sleep(0.1)
    raise TimeoutError(file)


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    write_and_read(session, sys.argv[1])
    if sys.argv[2:]:
        wait_for(sys.argv[2])
        session.range(0, 10, 1, 5).foreach(print)  # right before the end
