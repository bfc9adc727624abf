"""The tasks of the flights example on a Spark session of one thread, against plain Python."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import verify

from headway.domain.interval import DataInterval
from headway.domain.states import Outcome
from headway.sdk.authoring.definition import DAG
from headway.sdk.harness.execution import Result, execute
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime

pytestmark = [pytest.mark.spark, pytest.mark.long]

EXAMPLE = Path(__file__).parents[3] / "examples" / "flights"
NEW_YORK = ZoneInfo("America/New_York")
NEW_YEAR = "2013-01-01"
LONG_DAY = "2013-11-03"  # the clock goes back: 25 hours, and 01:00 twice in the weather
TABLES = ("landed", "flights", "flight_weather", "flight_plane", "enriched")
AGGREGATES = ("by_carrier", "by_airport")


@pytest.fixture(scope="module")
def dag() -> DAG:
    (dag,) = load_dag_file(EXAMPLE / "dags" / "flights_daily.py", EXAMPLE / "dags")
    return dag


@pytest.fixture(scope="module")
def finished(dag: DAG, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with two days in it; only for tests that leave it alone."""
    root = tmp_path_factory.mktemp("flights")
    for day in (NEW_YEAR, LONG_DAY):
        DayRun(dag, spark, root, day).every_task()
    return root


@pytest.fixture
def output(finished: Path, tmp_path: Path) -> Path:
    """A copy of the two days."""
    return Path(shutil.copytree(finished, tmp_path / "output"))


@dataclass(frozen=True, slots=True)
class DayRun:
    """A run of the DAG about one day, or several, task by task in this process."""

    dag: DAG
    spark: Any
    root: Path
    day: str
    days: int = 1
    conf: dict[str, Any] = field(default_factory=dict)
    xcoms: dict[Any, Any] = field(default_factory=dict)

    def task(self, task_id: str) -> Result:
        start = datetime.fromisoformat(self.day).replace(tzinfo=NEW_YORK)
        facts = RunFacts(
            dag_id=self.dag.dag_id,
            run_id="test",
            task_id=task_id,
            data_interval=DataInterval(start, start + timedelta(days=self.days)),
            conf={"output": str(self.root), **self.conf},
        )
        runtime = LocalRuntime(task_id, self.xcoms, open_spark=lambda _conn_id: self.spark)
        return execute(self.dag.get_task(task_id), facts, runtime)

    def every_task(self) -> None:
        for task in self.dag.tasks:
            result = self.task(task.task_id)
            assert result.outcome is Outcome.SUCCESS, result

    def found(self, task_id: str, table: str, **figures: int) -> None:
        """Say what a task before has left."""
        path = str(self.root / table)
        self.xcoms[task_id, "return_value"] = {"path": path, "days": {self.day: figures}}


def contents(root: Path, day: str) -> dict[str, list[Any]]:
    """The rows of every partition of a day, in their order, and its summary."""
    from pyarrow import parquet

    found: dict[str, list[Any]] = {
        table: parquet.read_table(root / table / f"date={day}", partitioning=None).to_pylist()
        for table in TABLES + AGGREGATES
    }
    found["summary"] = [(root / "summary" / f"day={day}.json").read_text()]
    return found


def stamps(root: Path, day: str) -> dict[Path, int]:
    files = [path for path in root.glob(f"*/date={day}*/*") if path.is_file()]
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


def test_a_run_about_several_days_makes_of_each_what_its_own_run_makes(
    dag: DAG, spark: Any, finished: Path, tmp_path: Path
) -> None:
    """From the 2nd to the 4th, and the 3rd has 25 hours."""
    DayRun(dag, spark, tmp_path, "2013-11-02", days=3).every_task()

    assert contents(tmp_path, LONG_DAY) == contents(finished, LONG_DAY)
    days = ["2013-11-02", LONG_DAY, "2013-11-04"]
    assert verify.compare(tmp_path, days) == []
    for table in TABLES + AGGREGATES:
        assert sorted(path.name for path in (tmp_path / table).glob("date=*")) == [
            f"date={day}" for day in days
        ]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_picture_is_drawn_if_it_is_wanted(dag: DAG, tmp_path: Path, *, wanted: bool) -> None:
    run = DayRun(dag, None, tmp_path, NEW_YEAR, conf={"picture": wanted})
    totals = dict.fromkeys(("cancelled", "diverted", "with_weather", "with_plane"), 1)
    totals |= dict.fromkeys(("mean_dep_delay", "mean_arr_delay"), 2)
    run.found("enrich", "enriched", rows=842, **totals)
    run.found("aggregate_by_carrier", "by_carrier", rows=14, flights=842)
    run.found("aggregate_by_airport", "by_airport", rows=90, departures=842, arrivals=842)

    assert run.task("report_day").outcome is Outcome.SUCCESS

    assert (tmp_path / "summary" / f"day={NEW_YEAR}.json").exists()
    assert (tmp_path / "report" / "days.png").exists() is wanted


def test_a_second_run_gives_the_same_and_touches_no_other_day(
    dag: DAG, spark: Any, output: Path
) -> None:
    before, others = contents(output, NEW_YEAR), stamps(output, LONG_DAY)
    picture = (output / "report" / "days.png").read_bytes()
    mine = stamps(output, NEW_YEAR)

    DayRun(dag, spark, output, NEW_YEAR).every_task()

    assert contents(output, NEW_YEAR) == before
    assert stamps(output, LONG_DAY) == others
    assert (output / "report" / "days.png").read_bytes() == picture
    assert stamps(output, NEW_YEAR) != mine


def test_what_a_broken_attempt_has_left_is_replaced(dag: DAG, spark: Any, output: Path) -> None:
    before = contents(output, NEW_YEAR)
    double(output / "enriched" / f"date={NEW_YEAR}")

    result = enrich(dag, spark, output)

    assert result.outcome is Outcome.SUCCESS
    assert contents(output, NEW_YEAR) == before


def test_a_day_without_flights_fails_and_is_not_tried_again(
    dag: DAG, spark: Any, tmp_path: Path
) -> None:
    run = DayRun(dag, spark, tmp_path, "2014-06-01")

    run.task("land")
    result = run.task("clean_and_check")

    assert (result.outcome, result.may_retry) == (Outcome.FAILED, False)
    assert "There are no flights of 2014-06-01: 0 landed, 0 clean." in str(result.error)


def test_a_row_that_gets_lost_after_landing_is_missed(dag: DAG, spark: Any, output: Path) -> None:
    run = DayRun(dag, spark, output, NEW_YEAR)
    run.found("land", "landed", rows=843)

    assert "do not add up: 843 landed, 842 clean." in str(run.task("clean_and_check").error)


def test_a_bad_row_ends_the_day(dag: DAG, spark: Any, finished: Path, tmp_path: Path) -> None:
    run = DayRun(dag, spark, tmp_path, NEW_YEAR)
    landed = spark.read.parquet(str(finished / "landed" / f"date={NEW_YEAR}"))
    spoiled = landed.selectExpr("* EXCEPT (distance)", "-distance AS distance")
    spoiled.write.parquet(str(tmp_path / "landed" / f"date={NEW_YEAR}"))
    run.found("land", "landed", rows=842)

    assert "842 flights cover no distance" in str(run.task("clean_and_check").error)
    assert not (tmp_path / "flights").exists()


def test_a_join_that_doubles_a_flight_is_noticed(dag: DAG, spark: Any, output: Path) -> None:
    double(output / "flight_plane" / f"date={NEW_YEAR}")

    result = enrich(dag, spark, output)

    assert "842 with planes, 1,684 enriched" in str(result.error)


def double(partition: Path) -> None:
    for file in partition.glob("part-*"):
        shutil.copy(file, partition / f"part-again-{file.name}")


def enrich(dag: DAG, spark: Any, output: Path) -> Result:
    """Run that task alone, after tasks that have found 842 flights each."""
    run = DayRun(dag, spark, output, NEW_YEAR)
    run.found("clean_and_check", "flights", rows=842)
    run.found("join_weather", "flight_weather", rows=842)
    run.found("join_planes", "flight_plane", rows=842)
    return run.task("enrich")


def test_verify_exits_with_1_on_any_difference(output: Path) -> None:
    summary = output / "summary" / f"day={NEW_YEAR}.json"
    command = [sys.executable, str(EXAMPLE / "verify.py"), str(output)]
    equal = subprocess.run(command, capture_output=True, text=True, check=False)

    summary.write_text(summary.read_text().replace('"cancelled": 4', '"cancelled": 5'))
    tampered = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (equal.returncode, equal.stderr) == (0, "")
    assert tampered.returncode == 1
    assert "2013-01-01 summary: cancelled should be 4 and is 5" in tampered.stdout
