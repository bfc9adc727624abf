"""The example DAGs of timetables: when they run, with dates worked out by hand.

New York is five hours behind UTC until 8 March 2026, when 02:00 becomes 03:00, then four.
"""

from datetime import datetime
from pathlib import Path

import pytest

from headway.domain.interval import DataInterval
from headway.domain.states import Outcome
from headway.sdk import DAG
from headway.sdk.harness.execution import execute
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime, XComs

DAGS = Path(__file__).parents[3] / "examples" / "timetables" / "dags"
at = datetime.fromisoformat


def load(name: str) -> DAG:
    (dag,) = load_dag_file(DAGS / f"{name}.py", DAGS)
    return dag


@pytest.mark.parametrize(
    ("name", "earliest", "latest", "expected"),
    [
        # 1 January 2026 is a Thursday.
        (
            "weekdays",
            "2026-01-01T05:00Z",
            "2026-01-06T05:00Z",
            [
                ("01-01 05:00", "01-02 05:00", "01-02 05:00"),
                ("01-02 05:00", "01-03 05:00", "01-03 05:00"),
                ("01-05 05:00", "01-06 05:00", "01-06 05:00"),
                ("01-06 05:00", "01-07 05:00", "01-07 05:00"),
            ],
        ),
        # 15 February and 15 March are Sundays, 15 August is a Saturday.
        (
            "payroll",
            "2026-01-01T05:00Z",
            "2026-09-01T00:00Z",
            [
                (day, day, day)
                for day in (
                    "01-15 14:00",
                    "02-13 14:00",
                    "03-13 13:00",
                    "04-15 13:00",
                    "05-15 13:00",
                    "06-15 13:00",
                    "07-15 13:00",
                    "08-14 13:00",
                )
            ],
        ),
        # Closed on Good Friday, 3 April, and over the weekend.
        (
            "trading_days",
            "2026-04-02T04:00Z",
            "2026-04-07T04:00Z",
            [
                ("04-02 04:00", "04-03 04:00", "04-03 06:00"),
                ("04-06 04:00", "04-07 04:00", "04-07 06:00"),
                ("04-07 04:00", "04-08 04:00", "04-08 06:00"),
            ],
        ),
        # On 8 March there is no half past two.
        (
            "exact_time",
            "2026-03-07T05:00Z",
            "2026-03-09T23:00Z",
            [
                (at_once, at_once, at_once)
                for at_once in ("03-07 07:30", "03-08 07:00", "03-09 06:30")
            ],
        ),
    ],
)
def test_when_an_example_runs(
    name: str, earliest: str, latest: str, expected: list[tuple[str, str, str]]
) -> None:
    found = load(name).iter_dagrun_infos_between(at(earliest), at(latest))

    assert [
        tuple(
            f"{date:%m-%d %H:%M}"
            for date in (info.data_interval.start, info.data_interval.end, info.run_after)
        )
        for info in found
    ] == expected


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("weekdays", "the data of Friday, 02 January 2026, complete since Saturday 00:00"),
        ("payroll", "would pay everybody on 2026-01-02"),
        ("trading_days", "would load the prices of 2026-01-02"),
        ("exact_time", "would dump the database to mydb_20260102T050000.pgdump"),
    ],
)
def test_what_an_example_does(name: str, said: str) -> None:
    [task] = load(name).tasks
    xcoms: XComs = {}
    friday = DataInterval(at("2026-01-02T05:00Z"), at("2026-01-03T05:00Z"))
    facts = RunFacts(dag_id=name, run_id="r", task_id=task.task_id, data_interval=friday)
    result = execute(task, facts, LocalRuntime(task.task_id, xcoms))

    assert result.outcome is Outcome.SUCCESS
    assert xcoms[task.task_id, "return_value"] == said


def test_every_example_is_tried() -> None:
    assert {path.stem for path in DAGS.glob("*.py")} == {
        "weekdays",
        "payroll",
        "trading_days",
        "exact_time",
    }
