"""What tasks do in Spark sessions: side by side, for ever, on a server elsewhere."""

import time
from pathlib import Path
from typing import Any

import helper  # type: ignore[import-not-found]  # beside this file

from headway.sdk import dag, task

NEVER_ENDING = "java_method('java.lang.Thread', 'sleep', 1 + id % 1) = ''"
"""A condition that no row meets, and that hardly computes: for many rows it takes for ever."""


@task.pyspark
def meets(spark: Any, params: dict[str, str]) -> list[int]:
    """Use a view and a UDF, while another run uses others of the same names."""
    from pyspark.sql.functions import udf

    spark.range(helper.VERSION).createOrReplaceTempView("same")
    here = Path(params["folder"])
    (here / f"at-{helper.VERSION}").touch()
    while not all((here / f"at-{version}").exists() for version in (1, 2)):
        time.sleep(0.05)
    stamp = udf(helper.stamped, "bigint")
    (row,) = spark.range(4, 5).select(stamp("id")).collect()
    return [spark.table("same").count(), row[0]]


@task.pyspark
def counts(spark: Any, params: dict[str, str]) -> int:
    """Read what was written, with a shuffle in between."""
    path = f"{params['folder']}/numbers"
    spark.range(0, 1000, 1, 4).selectExpr("id", "id % 10 AS k").write.parquet(path)
    return int(spark.read.parquet(path).groupBy("k").count().count())


@task.pyspark
def endless(spark: Any) -> None:
    spark.range(0, 10**14, 1, 8).where(NEVER_ENDING).collect()


@task.pyspark
def endless_once(spark: Any, params: dict[str, str], try_number: int) -> int:
    """Run for ever in the first attempt, and end at once in the second."""
    if try_number == 1:
        (Path(params["folder"]) / "begun").touch()
        spark.range(0, 10**14, 1, 2).where(NEVER_ENDING).collect()
    return int(spark.range(5).count())


@dag(schedule=None, params={"folder": ""})
def side_by_side() -> None:
    meets()


@dag(schedule=None, params={"folder": ""})
def counting() -> None:
    counts()


@dag(schedule=None)
def for_ever() -> None:
    endless()


@dag(schedule=None, params={"folder": ""})
def lost_here() -> None:
    endless_once()


@dag(schedule=None, params={"folder": ""}, default_args={"conn_id": "remote"})
def lost_there() -> None:
    endless_once()


@dag(schedule=None, params={"folder": ""}, default_args={"conn_id": "nowhere"})
def nowhere() -> None:
    counts()


for each in (side_by_side, counting, for_ever, lost_here, lost_there, nowhere):
    each()
