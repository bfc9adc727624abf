"""The partitions of a table of files that a run's data interval is about: read, overwritten.

A partition is a folder `<path>/<column>=<name>`.  Its name is a day of the DAG's time zone
(`2013-01-31`), a month (`2013-01`), or an hour in UTC (`2013-01-31T05`), which clocks
that are changed cannot make ambiguous.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.sdk.exceptions import AirflowFailException
from headway.sdk.running.context import get_current_context

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS: Final = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}
_STEPS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1), "month": timedelta(days=31)}
_ABSENT: Final = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")


def partition_names(interval: DataInterval, by: str, timezone: str) -> list[str]:
    """Return the names of the partitions that make up exactly this interval, in order.

    `by` is hour, day or month.  An exact time means the partition that it lies in.
    DagError when the interval begins or ends inside of one.
    """
    if by not in _FORMATS:
        raise DagError(f"Partitions are by {', '.join(_FORMATS)}, not by {by!r}.")
    zone = ZoneInfo("UTC" if by == "hour" else timezone)
    begin = edge = _beginning(interval.start.astimezone(zone).replace(tzinfo=None, fold=0), by)
    names: list[str] = []
    while not names or _instant(edge, zone) < interval.end:
        names.append(edge.strftime(_FORMATS[by]))
        edge = _beginning(edge + _STEPS[by], by)
    whole = (_instant(begin, zone), _instant(edge, zone)) == (interval.start, interval.end)
    if not whole and interval.start != interval.end:
        raise DagError(
            f"The data interval {interval.start.isoformat()} to {interval.end.isoformat()} is not "
            f"made up of whole {by}s of {zone.key}; choose smaller partitions, or another schedule."
        )
    return names


def read_interval(
    spark: "SparkSession", path: str, *, by: str = "day", column: str | None = None
) -> "DataFrame":
    """Return the rows of the run's data interval in the table at `path`.

    Only the folders of its partitions are looked at; one that is missing is Spark's error
    PATH_NOT_FOUND.  `column`, by default called as `by`, holds the partition: a date, if
    it is a day, else text.
    """
    column = column or by
    folders = [_folder(path, column, name) for name in _names_of_run(by)]
    frame = spark.read.option("basePath", path).parquet(*folders)
    kind, quoted = "DATE" if by == "day" else "STRING", _quoted(column)
    return frame.selectExpr(f"* EXCEPT ({quoted})", f"CAST({quoted} AS {kind}) AS {quoted}")


def overwrite_interval(
    frame: "DataFrame", path: str, *, by: str = "day", column: str | None = None
) -> None:
    """Make the run's data interval in the table at `path` hold these rows, and no others.

    A partition of the interval without a row becomes empty, and nothing outside of the
    interval is touched: a row that belongs elsewhere by its `column` fails the job before
    anything is replaced.  A frame without that column belongs to the one partition of the
    interval.  What is replaced is there until the job has succeeded, so the frame may be
    made of it, and a second run gives the same.
    """
    column, names = column or by, _names_of_run(by)
    spark, rows = frame.sparkSession, _in_partitions(frame, column, names)
    before = _files(spark, path, column, names)
    replacing = rows.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    replacing.partitionBy(column).parquet(path)
    written = _files(spark, path, column, names) - before
    replaced = {file.split("/")[-2].rpartition("=")[2] for file in written}
    for name in (name for name in names if name not in replaced):
        # A partition that gets no rows is passed over; empty it with a file of none.
        empty = rows.limit(0).drop(column)
        empty.write.mode("overwrite").parquet(_folder(path, column, name))


def _names_of_run(by: str) -> list[str]:
    context = get_current_context()
    interval = DataInterval(context["data_interval_start"], context["data_interval_end"])
    return partition_names(interval, by, context["dag"].spec.timezone)


def _in_partitions(frame: "DataFrame", column: str, names: list[str]) -> "DataFrame":
    quoted, listed = _quoted(column), ", ".join(f"'{name}'" for name in names)
    if column in frame.columns:
        value = f"CAST({quoted} AS STRING)"
        stray = f"concat('A row belongs to ', coalesce({value}, 'NULL'), ', not to the interval.')"
        checked = f"CASE WHEN {value} IN ({listed}) THEN {value} ELSE raise_error({stray}) END"
        return frame.selectExpr(f"* EXCEPT ({quoted})", f"{checked} AS {quoted}")
    if len(names) > 1:
        raise AirflowFailException(
            f"The data interval has the partitions {', '.join(names)}, and the rows have no column "
            f"{column!r} that tells which each belongs to; add it."
        )
    return frame.selectExpr("*", f"{listed} AS {quoted}")


def _files(spark: "SparkSession", path: str, column: str, names: list[str]) -> set[str]:
    """Return the files of these partitions that hold rows; of those that are missing none."""
    folders = _folder(path, column, f"{{{','.join(names)}}}")
    try:
        found = spark.read.parquet(folders).selectExpr("_metadata.file_path").distinct().collect()
    except Exception as error:  # the SDK does not import pyspark, whose error this may be
        if _condition(error) not in _ABSENT:
            raise
        return set()
    return {row[0] for row in found}


def _condition(error: Any) -> str | None:
    tell = getattr(error, "getCondition", None)
    return tell() if tell else None


def _folder(path: str, column: str, name: str) -> str:
    return f"{path.rstrip('/')}/{column}={name}"


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _beginning(wall: datetime, by: str) -> datetime:
    """Return when the partition begins that holds this time of a clock on the wall."""
    hour = wall.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return {"hour": hour, "day": day, "month": day.replace(day=1)}[by]


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return when clocks show that time first; in a gap, when they were set past it."""
    return wall.replace(tzinfo=zone).astimezone(UTC)
