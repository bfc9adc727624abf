"""The tables on disk: one folder of Parquet for each table and day."""

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from flights.paths import RunPaths
from headway.sdk.partitions import overwrite_interval, read_interval

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Figures: TypeAlias = dict[str, Any]
"""What a task tells the next ones: the `path` of its table, and under `days` of each day of the
run the number of its `rows`, and further figures."""

COLUMN: Final = "date"
"""What the folders are called by; `day` is a column of the source, the day of the month."""


def read(spark: "SparkSession", path: str) -> "DataFrame":
    """Return the rows of the run's days in the table at `path`, each with its `date`."""
    return read_interval(spark, path, column=COLUMN)


def overwrite(frame: "DataFrame", paths: RunPaths, table: str, *figures: str) -> Figures:
    """Replace the run's days in a table by `frame`, and describe what is there now.

    The rows of a day are one sorted file, the same each time.  `figures` are SQL
    aggregates with a name.  They and the number of rows are read back from the disk: they
    describe what the next task will find.
    """
    path = paths.table(table)
    ordered = frame.repartition(1).sortWithinPartitions(COLUMN, *frame.columns)
    overwrite_interval(ordered, path, column=COLUMN)
    columns = ", ".join(["date", "count(*) AS rows", *figures])
    query = f"SELECT {columns} FROM {{written}} GROUP BY date"
    written = read(frame.sparkSession, path)
    found = [row.asDict() for row in frame.sparkSession.sql(query, written=written).collect()]
    by_day = {row.pop("date"): row for row in found}
    return {"path": path, "days": {str(day): by_day.get(day, {"rows": 0}) for day in paths.days}}
