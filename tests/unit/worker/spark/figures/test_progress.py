"""How far an attempt is in Spark: operations added up, told now and then."""

from dataclasses import dataclass
from typing import Any

import pytest

from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.testing.time.clock import FakeClock
from headway_worker.spark.figures.progress import ProgressMeter


@dataclass
class Stage:
    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    done: bool = False


def test_stages_of_all_operations_are_added_up() -> None:
    clock, told = FakeClock(), list[SparkProgress]()
    meter = ProgressMeter(told.append, clock)

    meter([Stage(1, 4, 0)], 2, "a", False)
    clock.advance(2)
    meter([Stage(1, 4, 4, True), Stage(2, 10, 2)], 2, "a", False)
    clock.advance(2)
    meter([Stage(2, 10, 10, True), Stage(1, 4, 4, True)], 0, "a", True)
    clock.advance(4)
    meter([Stage(5, 8, 2)], 2, "b", False)

    assert told == [
        SparkProgress(stages=1, tasks=4, tasks_running=2, operation_id="a"),
        SparkProgress(
            stages=2,
            stages_done=1,
            tasks=14,
            tasks_done=6,
            tasks_running=2,
            rate=3.0,
            operation_id="a",
        ),
        SparkProgress(stages=2, stages_done=2, tasks=14, tasks_done=14, rate=3.5, operation_id="a"),
        SparkProgress(
            stages=3,
            stages_done=2,
            tasks=22,
            tasks_done=16,
            tasks_running=2,
            rate=2.0,
            operation_id="b",
        ),
    ]


def test_it_tells_four_times_a_second_at_most_but_each_end() -> None:
    clock, told = FakeClock(), list[SparkProgress]()
    meter = ProgressMeter(told.append, clock)

    for _ in range(10):
        meter([Stage(1, 4, 1)], 1, "a", False)
        clock.advance(0.125)
    assert len(told) == 5
    meter([Stage(1, 4, 4)], 1, "a", True)

    assert (len(told), told[-1].tasks_done) == (6, 4)


def test_an_operation_without_stages_tells_nothing() -> None:
    told: list[SparkProgress] = []

    ProgressMeter(told.append, FakeClock())(None, 0, None, True)

    assert told == []


def test_progress_travels_as_plain_data() -> None:
    progress = SparkProgress(stages=2, tasks=9, tasks_done=3, rate=1.5, operation_id="a")

    assert SparkProgress.from_frame(progress.to_frame()) == progress


@pytest.mark.parametrize(
    "frame",
    [
        {"tasks": -1},
        {"tasks": "many"},
        {"tasks": True},
        {"tasks": 2**60},
        {"tasks": 1.5},
        {"rate": float("nan")},
        {"operation_id": 3},
        {"colour": 1},
    ],
)
def test_what_is_no_progress_is_refused(frame: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        SparkProgress.from_frame(frame)


@pytest.mark.parametrize("skew", [{}, {"skew": 4.5, "skew_stage": 3}])
def test_figures_travel_as_plain_data(skew: dict[str, Any]) -> None:
    figures = SparkFigures(jobs=2, tasks=9, executor_run_ms=1234, **skew)

    assert SparkFigures.from_frame(figures.to_frame()) == figures


@pytest.mark.parametrize(
    "frame",
    [
        {"jobs": -1},
        {"jobs": None},
        {"tasks": 1.5},
        {"skew": "big"},
        {"skew": float("inf")},
        {"skew_stage": 0.5},
        {"rows_read": 2**60},
        {"colour": 1},
    ],
)
def test_what_are_no_figures_is_refused(frame: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        SparkFigures.from_frame(frame)
