"""The rules that the flights example holds its data to, each with a row that breaks it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flights import checks, source, tables

pytestmark = [pytest.mark.spark, pytest.mark.long]

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
    offences = checks.count_offences(flights.selectExpr("*", "DATE'2013-01-01' AS date"))
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

    landed = tables.land(flight(spark), HOUR, HOUR + timedelta(hours=1))
    row = tables.join_weather(tables.clean(landed), weather).first()

    assert (row["with_weather"], row["wind_speed"]) == (True, None)


@pytest.mark.parametrize("header", ["carrier,title", "carrier,name,country", "carrier"])
def test_a_file_of_other_columns_is_refused(spark: Any, tmp_path: Path, header: str) -> None:
    expect_refusal(spark, tmp_path / "airlines.csv", f"{header}\nUA,United\n")


def test_a_row_that_does_not_fit_is_refused(spark: Any, tmp_path: Path) -> None:
    expect_refusal(spark, tmp_path / "airlines.csv", "carrier,name\nUA,United,extra\n")


def expect_refusal(spark: Any, file: Path, text: str) -> None:
    from py4j.protocol import Py4JJavaError

    file.write_text(text)

    with pytest.raises(Py4JJavaError, match=file.name):
        source.read_csv(spark, "airlines", file).collect()
