"""Reading and overwriting the partitions of an interval on Spark Connect; checked by hand."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headway.domain.interval import DataInterval
from headway.domain.states import Outcome
from headway.embedded.java import find_java_home
from headway.sdk import DAG, PythonOperator
from headway.sdk.harness.execution import Result, execute
from headway.sdk.partitions import overwrite_interval, read_interval
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime
from headway.testing.processes.environment import path_and_home
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark.sql.connect.session")

from headway_worker.spark.session.session import close_session, open_session  # noqa: E402

NEW_YORK = ZoneInfo("America/New_York")
FAST_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    scratch = tmp_path_factory.mktemp("connect")
    server = ConnectServer.start(
        ServerSettings(
            java_home=find_java_home(None, os.environ, scratch),
            scratch=scratch / "spark",
            environment=path_and_home(),
            java_options=FAST_JAVA,
        )
    )
    session = open_session(server.wait_ready(120), "partitions", lambda _handle: None)
    yield session
    close_session(session)
    server.stop()


def in_run(start: str, end: str, call: Callable[[], object]) -> Result:
    """Call a function as a task of a DAG of New York, in the run about that interval."""
    with DAG("sales", schedule="@daily", start_date=datetime(2013, 1, 1, tzinfo=NEW_YORK)):
        task = PythonOperator(task_id="task", python_callable=call)
    first, last = (datetime.fromisoformat(each).replace(tzinfo=NEW_YORK) for each in (start, end))
    facts = RunFacts(
        dag_id="sales", run_id="test", task_id="task", data_interval=DataInterval(first, last)
    )
    return execute(task, facts, LocalRuntime("task"))


def overwrite(start: str, end: str, frame: Any, table: Path, **options: Any) -> Result:
    return in_run(start, end, lambda: overwrite_interval(frame, str(table), **options))


def done(start: str, end: str, frame: Any, table: Path, **options: Any) -> None:
    result = overwrite(start, end, frame, table, **options)
    assert result.outcome is Outcome.SUCCESS, result


def rows(spark: Any, table: Path, start: str, end: str, **options: Any) -> list[tuple[Any, ...]]:
    """What a run about that interval reads."""
    found: list[tuple[Any, ...]] = []

    def read() -> None:
        frame = read_interval(spark, str(table), **options)
        found.extend(sorted(tuple(row) for row in frame.collect()))

    result = in_run(start, end, read)
    assert result.outcome is Outcome.SUCCESS, result
    return found


def sales(spark: Any, *rows: tuple[int, str]) -> Any:
    """Sales with the day that each is of."""
    return spark.createDataFrame(list(rows), "amount INT, day STRING")


def stamps(table: Path, name: str) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (table / name).iterdir()}


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> Path:
    """Three days: amounts of 1 and 2, of 3, of 4."""
    path = tmp_path / "sales"
    given = sales(spark, (1, "2013-01-01"), (2, "2013-01-01"), (3, "2013-01-02"), (4, "2013-01-03"))
    done("2013-01-01", "2013-01-04", given, path)
    return path


def test_a_run_reads_the_rows_of_its_interval(spark: Any, table: Path) -> None:
    day = datetime(2013, 1, 1).date()  # noqa: DTZ001 - a date has no zone

    assert rows(spark, table, "2013-01-01", "2013-01-02") == [(1, day), (2, day)]
    assert [row[0] for row in rows(spark, table, "2013-01-02", "2013-01-04")] == [3, 4]


def test_a_partition_that_nobody_has_written_is_an_error(spark: Any, table: Path) -> None:
    def read() -> None:
        read_interval(spark, str(table)).collect()

    assert "PATH_NOT_FOUND" in str(in_run("2013-01-04", "2013-01-05", read).error)


def test_a_run_replaces_its_own_partition_and_a_second_time_gives_the_same(
    spark: Any, table: Path
) -> None:
    others = [stamps(table, "day=2013-01-01"), stamps(table, "day=2013-01-03")]

    for _ in range(2):
        done("2013-01-02", "2013-01-03", sales(spark, (30, "2013-01-02")), table)

        assert [row[0] for row in rows(spark, table, "2013-01-01", "2013-01-04")] == [1, 2, 4, 30]
    assert [stamps(table, "day=2013-01-01"), stamps(table, "day=2013-01-03")] == others


def test_rows_without_the_column_are_of_the_one_partition(spark: Any, table: Path) -> None:
    done("2013-01-02", "2013-01-03", spark.sql("SELECT 7 AS amount"), table)

    assert [row[0] for row in rows(spark, table, "2013-01-01", "2013-01-04")] == [1, 2, 4, 7]


def test_no_rows_empty_the_partition(spark: Any, table: Path) -> None:
    done("2013-01-02", "2013-01-03", sales(spark).limit(0), table)

    assert rows(spark, table, "2013-01-02", "2013-01-03") == []
    assert [row[0] for row in rows(spark, table, "2013-01-01", "2013-01-04")] == [1, 2, 4]


def test_no_rows_where_there_was_nothing_make_an_empty_partition(
    spark: Any, tmp_path: Path
) -> None:
    done("2013-01-02", "2013-01-03", sales(spark).limit(0), tmp_path / "new")

    assert rows(spark, tmp_path / "new", "2013-01-02", "2013-01-03") == []


def test_of_several_partitions_those_without_rows_are_emptied(spark: Any, table: Path) -> None:
    done("2013-01-01", "2013-01-03", sales(spark, (5, "2013-01-02")), table)

    assert rows(spark, table, "2013-01-01", "2013-01-02") == []
    assert [row[0] for row in rows(spark, table, "2013-01-01", "2013-01-04")] == [4, 5]


@pytest.mark.parametrize("stray", ["2013-01-03", None])
def test_a_row_of_another_interval_fails_before_anything_is_replaced(
    spark: Any, table: Path, stray: str | None
) -> None:
    before = [stamps(table, f"day=2013-01-0{day}") for day in (1, 2, 3)]
    given = spark.createDataFrame([(9, "2013-01-02"), (9, stray)], "amount INT, day STRING")

    result = overwrite("2013-01-02", "2013-01-03", given, table)

    assert f"A row belongs to {stray or 'NULL'}, not to the interval." in str(result.error)
    assert [stamps(table, f"day=2013-01-0{day}") for day in (1, 2, 3)] == before


def test_rows_without_the_column_cannot_be_of_several_partitions(spark: Any, table: Path) -> None:
    result = overwrite("2013-01-01", "2013-01-03", spark.sql("SELECT 7 AS amount"), table)

    assert (result.outcome, result.may_retry) == (Outcome.FAILED, False)
    assert "the rows have no column 'day'" in str(result.error)


def test_a_partition_may_be_made_of_itself(spark: Any, table: Path) -> None:
    """What is replaced is there until the job has succeeded."""

    def double() -> None:
        twice = read_interval(spark, str(table)).selectExpr("amount * 2 AS amount", "day")
        overwrite_interval(twice, str(table))

    assert in_run("2013-01-01", "2013-01-02", double).outcome is Outcome.SUCCESS
    assert [row[0] for row in rows(spark, table, "2013-01-01", "2013-01-04")] == [2, 3, 4, 4]


def test_hours_and_months_have_a_column_of_text(spark: Any, tmp_path: Path) -> None:
    one = spark.sql("SELECT 1 AS amount")
    hour, month = ("2013-01-01T10:00", "2013-01-01T11:00"), ("2013-01-01", "2013-02-01")

    done(*hour, one, tmp_path / "hours", by="hour")
    done(*month, one, tmp_path / "months", by="month", column="period")

    assert rows(spark, tmp_path / "hours", *hour, by="hour") == [(1, "2013-01-01T15")]
    found = rows(spark, tmp_path / "months", *month, by="month", column="period")
    assert found == [(1, "2013-01")]
