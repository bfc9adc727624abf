"""The tasks of the flights example on a Spark session of one thread, against plain Python."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import verify
from flights import checks, source, tables

from headway.domain.interval import DataInterval
from headway.domain.states import Outcome
from headway.embedded.java import find_java_home
from headway.sdk.definition import DAG
from headway.sdk.execution import Result, execute
from headway.sdk.facts import RunFacts
from headway.sdk.loading import load_dag_file
from headway.sdk.runtime import LocalRuntime

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "flights"
NEW_YORK = ZoneInfo("America/New_York")
NEW_YEAR = "2013-01-01"
LONG_DAY = "2013-11-03"  # the clock goes back: 25 hours, and 01:00 twice in the weather
TABLES = ("landed", "flights", "flight_weather", "flight_plane", "enriched")
AGGREGATES = ("by_carrier", "by_airport")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    java_home = find_java_home(None, os.environ, tmp_path_factory.mktemp("java"))
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.session.timeZone": "Asia/Kolkata",  # must not matter
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_HOME", str(java_home))
        session = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def dag() -> DAG:
    (dag,) = load_dag_file(EXAMPLE / "dags" / "flights_daily.py", EXAMPLE / "dags")
    return dag


@pytest.fixture(scope="module")
def finished(dag: DAG, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with two days in it; only for tests that leave it alone."""
    root = tmp_path_factory.mktemp("flights")
    for day in (NEW_YEAR, LONG_DAY):
        run_day(dag, spark, root, day)
    return root


@pytest.fixture
def output(finished: Path, tmp_path: Path) -> Path:
    """A copy of the two days."""
    return Path(shutil.copytree(finished, tmp_path / "output"))


def run_task(
    dag: DAG, task_id: str, spark: Any, conf: Mapping[str, Any], xcoms: dict[Any, Any]
) -> Result:
    start = datetime.fromisoformat(conf["day"]).replace(tzinfo=NEW_YORK)
    facts = RunFacts(
        dag_id=dag.dag_id,
        run_id="test",
        task_id=task_id,
        data_interval=DataInterval(start, start + timedelta(days=1)),
        conf=conf,
    )
    runtime = LocalRuntime(task_id=task_id, xcoms=xcoms, open_spark=lambda: spark)
    return execute(dag.get_task(task_id), facts, runtime)


def run_day(dag: DAG, spark: Any, root: Path, day: str) -> None:
    xcoms: dict[Any, Any] = {}
    for task in dag.tasks:
        result = run_task(dag, task.task_id, spark, {"output": str(root), "day": day}, xcoms)
        assert result.outcome is Outcome.SUCCESS, result


def contents(root: Path, day: str) -> dict[str, list[Any]]:
    """The rows of every partition of a day, in their order, and its summary."""
    from pyarrow import parquet

    found: dict[str, list[Any]] = {
        table: parquet.read_table(root / table / f"day={day}", partitioning=None).to_pylist()
        for table in TABLES + AGGREGATES
    }
    found["summary"] = [(root / "summary" / f"day={day}.json").read_text()]
    return found


def stamps(root: Path, day: str) -> dict[Path, int]:
    files = [path for path in root.glob(f"*/day={day}*/*") if path.is_file()]
    files.append(root / "summary" / f"day={day}.json")
    return {path: path.stat().st_mtime_ns for path in files}


def test_the_aggregates_equal_plain_python(finished: Path) -> None:
    assert verify.compare(finished, [NEW_YEAR, LONG_DAY]) == []


def test_the_flights_of_new_year_are_the_known_ones(finished: Path) -> None:
    summary = json.loads((finished / "summary" / f"day={NEW_YEAR}.json").read_text())

    assert (summary["flights"], summary["cancelled"]) == (842, 4)
    assert (summary["with_weather"], summary["with_plane"]) == (803, 696)
    assert (finished / "report" / "days.png").exists()


@pytest.mark.parametrize("table", TABLES)
def test_every_table_keeps_every_flight(finished: Path, table: str) -> None:
    assert len(contents(finished, LONG_DAY)[table]) == 902


def test_a_second_run_gives_the_same_and_touches_no_other_day(
    dag: DAG, spark: Any, output: Path
) -> None:
    before, others = contents(output, NEW_YEAR), stamps(output, LONG_DAY)
    picture = (output / "report" / "days.png").read_bytes()
    mine = stamps(output, NEW_YEAR)

    run_day(dag, spark, output, NEW_YEAR)

    assert contents(output, NEW_YEAR) == before
    assert stamps(output, LONG_DAY) == others
    assert (output / "report" / "days.png").read_bytes() == picture
    assert stamps(output, NEW_YEAR) != mine


def test_what_a_broken_attempt_has_left_is_replaced(dag: DAG, spark: Any, output: Path) -> None:
    before = contents(output, NEW_YEAR)
    double(output / "enriched" / f"day={NEW_YEAR}")

    result = enrich(dag, spark, output)

    assert result.outcome is Outcome.SUCCESS
    assert contents(output, NEW_YEAR) == before


def test_a_day_without_flights_fails_and_is_not_tried_again(
    dag: DAG, spark: Any, tmp_path: Path
) -> None:
    conf = {"output": str(tmp_path), "day": "2014-06-01"}
    xcoms: dict[Any, Any] = {}

    run_task(dag, "land", spark, conf, xcoms)
    result = run_task(dag, "clean_and_check", spark, conf, xcoms)

    assert (result.outcome, result.may_retry) == (Outcome.FAILED, False)
    assert "There are no flights: 0 landed, 0 clean." in str(result.error)


def test_a_row_that_gets_lost_after_landing_is_missed(dag: DAG, spark: Any, output: Path) -> None:
    landed = {"path": str(output / "landed" / f"day={NEW_YEAR}"), "rows": 843}
    conf = {"output": str(output), "day": NEW_YEAR}

    result = run_task(dag, "clean_and_check", spark, conf, {("land", "return_value"): landed})

    assert "do not add up: 843 landed, 842 clean." in str(result.error)


def test_a_join_that_doubles_a_flight_is_noticed(dag: DAG, spark: Any, output: Path) -> None:
    double(output / "flight_plane" / f"day={NEW_YEAR}")

    result = enrich(dag, spark, output)

    assert "842 with planes, 1,684 enriched" in str(result.error)


def double(partition: Path) -> None:
    for file in partition.glob("part-*"):
        shutil.copy(file, partition / f"part-again-{file.name}")


def enrich(dag: DAG, spark: Any, output: Path) -> Result:
    """Run that task alone, after tasks that have found 842 flights each."""
    upstream = {
        "clean_and_check": "flights",
        "join_weather": "flight_weather",
        "join_planes": "flight_plane",
    }
    xcoms = {
        (task, "return_value"): {"path": str(output / table / f"day={NEW_YEAR}"), "rows": 842}
        for task, table in upstream.items()
    }
    return run_task(dag, "enrich", spark, {"output": str(output), "day": NEW_YEAR}, xcoms)


HOUR = datetime(2013, 1, 1, 10, tzinfo=UTC)

GOOD: dict[str, Any] = {
    "year": 2013, "month": 1, "day": 1, "dep_time": 517, "sched_dep_time": 515,
    "dep_delay": 2, "arr_time": 830, "sched_arr_time": 819, "arr_delay": 11,
    "carrier": "UA", "flight": 1545, "tailnum": "N14228", "origin": "EWR", "dest": "IAH",
    "air_time": 227, "distance": 1400, "hour": 5, "minute": 15, "time_hour": HOUR,
}  # fmt: skip

BAD: dict[str, dict[str, Any]] = {
    "lack a carrier": {"carrier": None},
    "are of another day": {"day": 2, "time_hour": HOUR + timedelta(days=1)},
    "have a time_hour": {"time_hour": HOUR - timedelta(hours=5)},
    "are scheduled at another time": {"minute": 16},
    "show a time that no clock shows": {"arr_time": 1260},
    "never departed": {"dep_time": None},
    "departed without": {"dep_delay": None},
    "have only one": {"air_time": None},
    "have a departure delay that the clock": {"dep_delay": 3},
    "departed or arrived more than": {"arr_delay": -181},
    "cover no distance": {"distance": 0},
    "took no time": {"air_time": 100},
}


def flight(spark: Any, **changes: Any) -> Any:
    return spark.createDataFrame([tuple((GOOD | changes).values())], source.SCHEMAS["flights"])


def broken(flights: Any) -> dict[str, int]:
    offences = checks.count_offences(flights, date(2013, 1, 1))
    return {rule: count for rule, count in offences.items() if count}


def test_a_good_flight_breaks_no_rule(spark: Any) -> None:
    assert broken(flight(spark)) == {}


def test_each_rule_has_a_bad_flight() -> None:
    assert all(any(rule.startswith(start) for start in BAD) for rule in checks.RULES)
    assert len(BAD) == len(checks.RULES)


@pytest.mark.parametrize("rule", BAD)
def test_a_bad_flight_breaks_its_rule_alone(spark: Any, rule: str) -> None:
    (found,) = broken(flight(spark, **BAD[rule])).items()

    assert found[0].startswith(rule)
    assert found[1] == 1


def test_a_flight_that_is_there_twice_is_found(spark: Any) -> None:
    assert broken(flight(spark).union(flight(spark))) == {checks.TWINS: 1}


def test_an_absurd_wind_is_no_wind(spark: Any) -> None:
    weather = spark.sql("""
        SELECT 'EWR' AS origin, TIMESTAMP'2013-01-01 10:00:00Z' AS time_hour,
               39.0 AS temp, 0.0 AS precip, 10.0 AS visib, 1048.36 AS wind_speed
    """)

    row = tables.join_weather(tables.clean(flight(spark)), weather).first()

    assert (row["with_weather"], row["wind_speed"]) == (True, None)


@pytest.mark.parametrize("header", ["carrier,title", "carrier,name,country", "carrier"])
def test_a_file_of_other_columns_is_refused(spark: Any, tmp_path: Path, header: str) -> None:
    expect_refusal(spark, tmp_path / "airlines.csv", f"{header}\nUA,United\n")


def test_a_row_that_does_not_fit_is_refused(spark: Any, tmp_path: Path) -> None:
    expect_refusal(spark, tmp_path / "airlines.csv", "carrier,name\nUA,United,extra\n")


def expect_refusal(spark: Any, file: Path, text: str) -> None:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    file.write_text(text)

    with pytest.raises(Py4JJavaError, match=file.name):
        source.read_csv(spark, "airlines", file).collect()


def test_verify_exits_with_1_on_any_difference(output: Path) -> None:
    summary = output / "summary" / f"day={NEW_YEAR}.json"
    command = [sys.executable, str(EXAMPLE / "verify.py"), str(output)]
    equal = subprocess.run(command, capture_output=True, text=True, check=False)

    summary.write_text(summary.read_text().replace('"cancelled": 4', '"cancelled": 5'))
    tampered = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (equal.returncode, equal.stderr) == (0, "")
    assert tampered.returncode == 1
    assert "2013-01-01 summary: cancelled should be 4 and is 5" in tampered.stdout
