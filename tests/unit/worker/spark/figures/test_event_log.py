"""What the event log of a server says of each session, added up."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway.domain.spark_work import SparkFigures
from headway_worker.spark.figures.event_log import EventLog, EventLogTally

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def line(name: str, **fields: Any) -> bytes:
    event = {"Event": f"SparkListener{name}", **fields}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def job(number: int, session_id: str, *stages: int) -> bytes:
    tag = f"SparkConnect_OperationTag_User_headway_Session_{session_id}_Operation_{TWO}"
    properties = {"spark.job.tags": f"other,{tag}", "spark.sql.execution.id": "1"}
    return line("JobStart", **{"Job ID": number, "Stage IDs": stages, "Properties": properties})


def job_end(number: int) -> bytes:
    return line("JobEnd", **{"Job ID": number, "Job Result": {"Result": "JobSucceeded"}})


def stage_end(number: int) -> bytes:
    return line("StageCompleted", **{"Stage Info": {"Stage ID": number}})


def task(stage: int, milliseconds: int = 10, reason: str = "Success", peak: int = 64) -> bytes:
    given = {
        "Executor Run Time": 7,
        "Executor CPU Time": 5_000_000,
        "Peak Execution Memory": peak,
        "Memory Bytes Spilled": 1000,
        "Disk Bytes Spilled": 3,
        "Shuffle Read Metrics": {"Remote Bytes Read": 1, "Local Bytes Read": 2},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 4},
        "Input Metrics": {"Bytes Read": 100, "Records Read": 10},
        "Output Metrics": {"Bytes Written": 50, "Records Written": 5},
    }
    return line(
        "TaskEnd",
        **{
            "Stage ID": stage,
            "Task End Reason": {"Reason": reason},
            "Task Info": {"Launch Time": 1000, "Finish Time": 1000 + milliseconds},
            "Task Metrics": given,
        },
    )


def tally(*lines: bytes) -> EventLogTally:
    made = EventLogTally()
    for each in lines:
        made.add(each)
    return made


def test_each_session_has_its_own_sums() -> None:
    found = tally(
        job(0, ONE, 0),
        job(1, TWO, 1),
        task(0),
        task(0, peak=99),
        task(1, reason="TaskKilled"),
        task(7),  # of no session
        stage_end(0),
        job_end(0),
        b'{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", ...\n',
    )

    assert found.figures(ONE) == SparkFigures(
        jobs=1,
        stages=1,
        tasks=2,
        executor_run_ms=14,
        executor_cpu_ms=10,
        bytes_read=200,
        rows_read=20,
        bytes_written=100,
        rows_written=10,
        shuffle_read_bytes=6,
        shuffle_write_bytes=8,
        spilled_bytes=6,
        peak_memory_bytes=99,
    )
    assert (found.figures(TWO).tasks, found.figures(TWO).tasks_failed) == (1, 1)
    assert (found.is_busy(ONE), found.is_busy(TWO)) == (False, True)


def test_all_jobs_may_be_of_one_owner() -> None:
    found = EventLogTally("me")
    untagged = line("JobStart", **{"Job ID": 0, "Stage IDs": [0], "Properties": {}})
    for each in (untagged, job(1, TWO, 1), task(0), task(1), stage_end(0), job_end(0)):
        found.add(each)

    sums = found.figures("me")
    assert (sums.jobs, sums.tasks, sums.stages) == (2, 2, 1)
    assert found.figures(TWO) == SparkFigures()


def test_a_session_without_a_job_took_nothing() -> None:
    assert tally().figures(ONE) == SparkFigures()
    assert not tally().is_busy(ONE)


def test_a_task_that_was_lost_has_no_metrics() -> None:
    lost = json.loads(task(0, reason="ExecutorLostFailure"))
    del lost["Task Metrics"]

    found = tally(job(0, ONE, 0), json.dumps(lost, separators=(",", ":")).encode())

    assert found.figures(ONE) == SparkFigures(jobs=1, tasks=1, tasks_failed=1)


def test_the_worst_skew_of_a_stage_that_is_long_enough_counts() -> None:
    even = [task(0, 1000) for _ in range(4)]
    skewed = [task(1, 500), task(1, 500), task(1, 500), task(1, 3000)]
    short = [task(2, 1), task(2, 1), task(2, 1), task(2, 900)]
    few = [task(3, 10), task(3, 9000)]
    ends = [stage_end(number) for number in range(4)]

    found = tally(job(0, ONE, 0, 1, 2, 3), *even, *skewed, *short, *few, *ends).figures(ONE)

    assert (found.skew, found.skew_stage, found.stages) == (6.0, 1, 4)


def test_a_line_of_which_a_part_was_lost_is_left_out() -> None:
    found = tally(job(0, ONE, 0), task(0)[:40] + task(0), task(0))

    assert found.figures(ONE).tasks == 1


def test_a_session_that_is_over_is_forgotten() -> None:
    found = tally(job(0, ONE, 0), task(0), job_end(0))

    found.forget(ONE)

    assert found.figures(ONE) == SparkFigures()


def test_an_event_log_goes_on_where_it_was_and_removes_what_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "events" / "eventlog_v2_local-1"
    folder.mkdir(parents=True)
    (folder / "appstatus_local-1.inprogress").touch()
    first, second, tenth = (folder / f"events_{number}_local-1" for number in (1, 2, 10))
    events = EventLog(tmp_path)
    assert events.read().figures(ONE) == SparkFigures()

    first.write_bytes(job(0, ONE, 0) + task(0)[:20])
    assert events.read().figures(ONE).tasks == 0  # a line that is still being written
    first.write_bytes(job(0, ONE, 0) + task(0) + task(0))
    assert events.read().figures(ONE).tasks == 2
    assert events.read().figures(ONE).tasks == 2
    second.write_bytes(task(0))
    tenth.write_bytes(task(0))

    assert events.read().figures(ONE).tasks == 4
    assert [first.exists(), second.exists(), tenth.exists()] == [False, False, True]


@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError])
def test_an_event_log_reads_later_what_it_cannot_read_now(
    tmp_path: Path, error: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a server is cleared away, or the worker has no file to spare."""
    folder = tmp_path / "events" / "eventlog_v2_local-1"
    folder.mkdir(parents=True)
    (folder / "events_1_local-1").write_bytes(job(0, ONE, 0) + task(0))
    (folder / "events_2_local-1").write_bytes(task(0))
    events = EventLog(tmp_path)

    def fail(*_: object) -> None:
        raise error("not now")

    for what in ("open", "glob"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, what, fail)
            assert events.read().figures(ONE).tasks == 0

    assert events.read().figures(ONE).tasks == 2
