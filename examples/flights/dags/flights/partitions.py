"""Partitions on disk: one folder of Parquet for each table and day."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Figures: TypeAlias = dict[str, Any]
"""What a task tells the next ones: the path of its partition, its `rows`, and further figures."""


def overwrite(frame: "DataFrame", path: str, *figures: str) -> Figures:
    """Replace the partition at `path` by `frame`, and describe what is there now.

    The rows are one sorted file, the same each time.  `figures` are SQL aggregates
    with a name.  They and the number of rows are read back from the disk: they
    describe what the next task will find.
    """
    ordered = frame.repartition(1).sortWithinPartitions(*frame.columns)
    ordered.write.mode("overwrite").parquet(path)
    written = frame.sparkSession.read.parquet(path)
    row = written.selectExpr("count(*) AS rows", *figures).first()
    return {"path": path} | (row.asDict() if row else {})
