"""How people are told what attempts do in Spark, and how a run stands."""

from dataclasses import asdict, replace
from datetime import UTC, datetime

from headway.cli.screen.spark_figures import span, told
from headway.cli.screen.watch_run import WatchedRun, line, table
from headway.db.reads.run_views import RunView
from headway.db.reads.task_views import TaskProgress, TaskView
from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.domain.states import RunState, RunType, TaskState

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
PROGRESS = asdict(SparkProgress(stages=3, stages_done=1, tasks=40, tasks_done=12, rate=3.5))


def test_times() -> None:
    assert (span(1234), span(None)) == ("1.2 s", "unknown")


def test_progress_is_told_while_there_are_no_figures() -> None:
    assert told(PROGRESS, None, ended=False) == "12/40 tasks in 1/3 stages, 3.5/s"
    assert told(None, None, ended=False) is None


def test_figures_of_an_attempt_that_has_ended_without_any_are_unknown() -> None:
    assert told(PROGRESS, None, ended=True) == "unknown"
    assert told(None, None, ended=True) is None


def test_figures_are_told_with_a_warning_where_a_stage_is_skewed() -> None:
    figures = SparkFigures(
        tasks=8, executor_run_ms=2500, bytes_read=2048, spilled_bytes=10, skew=6.5, skew_stage=3
    )

    said = told(PROGRESS, asdict(figures), ended=True)

    assert said == "8 tasks, 2.5 s, read 2.0 KiB, spilled 10 B, skew 6.5 in stage 3"
    even = asdict(SparkFigures(tasks=8, bytes_written=1, skew=1.5, skew_stage=1))
    assert told(None, even, ended=True) == "8 tasks, 0.0 s, wrote 1 B"


RUN = RunView(
    dag_id="d",
    run_id="r",
    run_type=RunType.MANUAL,
    state=RunState.RUNNING,
    interval_start=NOON,
    interval_end=NOON,
    schedule_date=NOON,
    run_after=NOON,
    started_at=NOON,
    ended_at=None,
    conf={},
    version=1,
    backfill_id=None,
)
TASK = TaskView(
    dag_id="d",
    run_id="r",
    task_id="a",
    map_index=-1,
    state=TaskState.SUCCESS,
    attempt=1,
    failures=0,
    losses=0,
    pool="default_pool",
    queue="default",
    priority=1,
    retry_at=None,
    started_at=NOON,
    ended_at=NOON,
)


def sight(state: RunState = RunState.RUNNING) -> WatchedRun:
    mapped = replace(TASK, task_id="b", map_index=2, state=TaskState.RUNNING, attempt=2)
    tasks = [TaskProgress(TASK, None, None), TaskProgress(mapped, PROGRESS, None)]
    return WatchedRun(replace(RUN, state=state), tasks)


def test_a_run_in_one_line() -> None:
    assert line(sight()) == (
        "running: 1/2 tasks ended (1 running, 1 success) | b[2] 12/40 tasks in 1/3 stages, 3.5/s"
    )
    assert not sight().run.ended
    assert sight(RunState.FAILED).run.ended


def test_a_run_as_a_table_has_a_bar_for_what_runs_in_spark() -> None:
    from rich.console import Console

    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(table(sight()))
    text = console.export_text()

    assert text.index("b[2]") < text.rindex("success")  # what runs comes first
    (row,) = (line for line in text.splitlines() if "b[2]" in line)
    assert "━" in row
    assert "12/40 tasks in 1/3 stages, 3.5/s" in row
