"""What a driver's REST interface says, added up.  The answers are those of a real driver."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway.domain.spark_work import SparkFigures
from headway_worker.spark.figures.rest import Announcement, StageBook, StageCount

ANSWERS = Path(__file__).parent / "answers"


def answer(name: str) -> Any:
    return json.loads((ANSWERS / f"{name}.json").read_text())


def stage(stage_id: int, status: str, tasks: int, done: int, attempt: int = 0) -> dict[str, Any]:
    """Return a stage of the real answer, as if this had become of it."""
    own = {"stageId": stage_id, "attemptId": attempt, "status": status, "numTasks": tasks}
    counts = {"numCompleteTasks": done, "numActiveTasks": 2, "numFailedTasks": 0}
    return {**answer("stages")[0], **own, **counts}


def book(*stages: dict[str, Any]) -> StageBook:
    made = StageBook()
    made.take(stages, [])
    return made


def test_figures_of_a_real_driver() -> None:
    found = StageBook()
    found.take(answer("stages"), answer("jobs"))
    assert found.to_judge() == [(7, 0), (0, 0)]
    found.judge((7, 0), answer("task_summary"))

    assert found.figures() == SparkFigures(
        jobs=7,
        stages=7,
        tasks=22,
        tasks_failed=1,
        executor_run_ms=28715,
        executor_cpu_ms=2102,
        bytes_read=1246,
        rows_read=100020,
        bytes_written=867,
        rows_written=10,
        shuffle_read_bytes=5067,
        shuffle_write_bytes=5067,
        spilled_bytes=0,
        peak_memory_bytes=8650736,
        skew=23.19,
        skew_stage=7,
    )
    assert found.to_judge() == [(0, 0)]
    found.give_up((0, 0))
    assert (found.to_judge(), found.figures().skew) == ([], 23.19)


def test_progress_of_a_real_driver_leaves_out_what_was_skipped() -> None:
    found = StageBook()
    found.take(answer("stages"), answer("jobs"))

    assert [stage.stage_id for stage in found.counts()] == [0, 2, 3, 4, 6, 7, 8]
    assert found.counts()[-2:] == [StageCount(7, 8, 8, True), StageCount(8, 1, 1, True)]
    assert found.running == 0


def test_an_old_spark_tells_less() -> None:
    stages = answer("stages")
    for each in stages:
        del each["numKilledTasks"], each["peakExecutionMemory"]
    found = StageBook()
    found.take(stages, [])

    summary = answer("task_summary")
    del summary["duration"]
    found.judge((7, 0), summary)

    assert (found.figures().tasks, found.figures().peak_memory_bytes) == (22, 0)
    assert found.figures().skew == 27.76


def test_a_stage_that_is_tried_again_is_one() -> None:
    found = book(stage(3, "FAILED", 10, 8), stage(3, "ACTIVE", 4, 1, attempt=1))

    assert found.counts() == [StageCount(3, 12, 9, False)]
    assert (found.running, found.figures().stages) == (2, 1)


def test_speculative_copies_make_no_stage_more_than_done() -> None:
    assert book(stage(1, "COMPLETE", 10, 13)).counts() == [StageCount(1, 10, 10, True)]


def test_what_the_driver_shows_no_longer_is_still_counted() -> None:
    found = book(stage(1, "COMPLETE", 10, 10))

    found.take([stage(2, "ACTIVE", 5, 0)], [])

    assert [stage.num_tasks for stage in found.counts()] == [10, 5]


def test_memory_is_that_of_one_task_though_a_stage_tells_the_sum() -> None:
    short = {**stage(1, "COMPLETE", 4, 4), "peakExecutionMemory": 400}
    found = book(short, {**short, "stageId": 2, "peakExecutionMemory": 300})
    assert (found.to_judge(), found.figures().peak_memory_bytes) == ([(1, 0), (2, 0)], 100)

    found.judge((1, 0), {"duration": [1.0, 2.0], "peakExecutionMemory": [10.0, 370.0]})

    assert (found.to_judge(), found.figures().peak_memory_bytes) == ([], 370)


def test_a_stage_whose_tasks_are_short_is_not_judged() -> None:
    found = book({**stage(1, "COMPLETE", 4, 4), "executorRunTime": 3000})

    found.judge((1, 0), {"duration": [1.0, 999.0]})

    assert (found.figures().skew, found.figures().skew_stage) == (None, None)


@pytest.mark.parametrize("given", [{"stageId": 1}, {**stage(1, "ACTIVE", 1, 1), "numTasks": None}])
def test_an_answer_of_another_kind_is_refused_as_a_whole(given: dict[str, Any]) -> None:
    found = StageBook()

    with pytest.raises((KeyError, TypeError, ValueError)):
        found.take([stage(2, "ACTIVE", 5, 0), given], [{"jobId": 0}])

    assert found.figures() == SparkFigures()


LOG = "26/11/22 01:17:30 INFO "


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["JettyUtils: Start Jetty 10.1.2.3:0 for SparkUI"], "http://10.1.2.3:46433"),
        (["JettyUtils: Start Jetty 0.0.0.0:4040 for SparkUI"], "http://127.0.0.1:46433"),
        (["JettyUtils: Start Jetty [::1]:0 for SparkUI"], "http://[::1]:46433"),
        (["JettyUtils: Start Jetty 10.1.2.3:0 for Other"], "http://127.0.0.1:46433"),
        ([], "http://127.0.0.1:46433"),
    ],
)
def test_the_address_is_in_the_log(lines: list[str], expected: str) -> None:
    announcement = Announcement()

    assert [announcement.hear(LOG + line) for line in lines] == [None for _ in lines]
    found = announcement.hear(LOG + "Utils: Successfully started service 'SparkUI' on port 46433.")

    assert found == expected
    assert announcement.hear(LOG + "Successfully started service 'sparkDriver' on port 1.") is None
