"""Tasks whose partitions record, outside of Spark and of Headway, when they run."""

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.sdk import DAG, task


def record_below(folder: str) -> Any:
    """Return what a partition does: write the time down again and again, until it may end."""

    def record(_rows: Iterator[Any]) -> None:
        import subprocess

        own = Path(folder) / f"marks-{uuid.uuid4()}"
        daemon = f"while :; do cut -d' ' -f1 /proc/uptime >> {own}; sleep 0.1; done"
        subprocess.Popen(["sh", "-c", daemon], start_new_session=True)
        while not (Path(folder) / "end").exists():
            with own.open("a") as marks:
                marks.write(f"{time.clock_gettime(time.CLOCK_BOOTTIME)}\n")
            time.sleep(0.05)

    return record


with DAG("session", params={"folder": ""}):

    @task.pyspark
    def in_a_session(spark: Any, params: dict[str, Any]) -> None:
        spark.range(0, 1, 1, 1).foreachPartition(record_below(params["folder"]))

    in_a_session()

with DAG("driver", params={"folder": ""}):

    @task.pyspark(mode="driver")
    def in_a_driver(spark: Any, params: dict[str, Any]) -> None:
        spark.range(0, 1, 1, 1).foreachPartition(record_below(params["folder"]))

    in_a_driver()
