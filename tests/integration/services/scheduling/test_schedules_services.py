"""When runs and tasks start: schedules, dates, limits, pools, queues, the past."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from headway.actions.installation.pools import set_pool
from headway.testing.data.known import known
from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "schedules"

NEW_YORK_DAYS = [
    ("2013-03-09T05:00", "2013-03-10T05:00"),
    ("2013-03-10T05:00", "2013-03-11T04:00"),
    ("2013-03-11T04:00", "2013-03-12T04:00"),
]
"""Three days in New York, in UTC; the clocks are changed on the second."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("schedules"), DAGS, schedulers=2) as stack:
        yield stack


def intervals(runs: list[StackRun]) -> list[tuple[str, str]]:
    return [
        (f"{row.interval_start:%FT%R}", f"{row.interval_end:%FT%R}")
        for row in (run.row for run in runs)
    ]


def set_slots(stack: Stack, pool: str, slots: int) -> None:
    with stack.engine.begin() as conn:
        set_pool(conn, pool, slots, "", "test")


def most_at_once(run: StackRun, slots: dict[str, int], since: str = "started_at") -> int:
    """The largest sum of the slots of attempts that were there at the same moment.

    An attempt has its slots since a moment between `queued_at`, which is when the pass that
    queued it began, and `started_at`.
    """
    attempts = run.attempts()
    return max(
        sum(
            slots[other.task_id]
            for other in attempts
            if getattr(other, since) <= known(moment.started_at) < known(other.ended_at)
        )
        for moment in attempts
    )


def wait_for_runs(stack: Stack, dag_id: str, count: int) -> list[StackRun]:
    """Wait for so many runs to end, and for the DAG to have no next one."""
    stack.until(lambda _: len(stack.runs(dag_id)) >= count, f"{count} runs of {dag_id}")
    for run in stack.runs(dag_id):
        assert run.wait().state == "success"
    stack.until(lambda _: stack.dag(dag_id).next_run_after is None, f"the end of {dag_id}")
    return stack.runs(dag_id)


@pytest.mark.parametrize(
    ("dag_id", "expected"),
    [
        ("by_cron", NEW_YORK_DAYS),
        ("by_preset", NEW_YORK_DAYS),
        (
            "by_timedelta",
            [
                ("2013-03-09T05:00", "2013-03-10T05:00"),
                ("2013-03-10T05:00", "2013-03-11T05:00"),
            ],
        ),
        (
            "by_data_timetable",
            [
                ("2013-03-09T11:00", "2013-03-09T13:00"),
                ("2013-03-10T10:00", "2013-03-10T12:00"),
            ],
        ),
        (
            "by_cron_timetable",
            [
                ("2013-03-09T11:30", "2013-03-09T11:30"),
                ("2013-03-10T10:30", "2013-03-10T10:30"),
            ],
        ),
        (
            "by_delta_timetable",
            [
                ("2013-03-09T05:00", "2013-03-09T06:00"),
                ("2013-03-10T05:00", "2013-03-10T06:00"),
            ],
        ),
        ("by_period", NEW_YORK_DAYS),
        ("by_delayed_timetable", NEW_YORK_DAYS),
        (
            "by_rolling_window",
            [
                ("2013-03-09T05:00", "2013-03-11T04:00"),
                ("2013-03-10T05:00", "2013-03-12T04:00"),
                ("2013-03-11T04:00", "2013-03-13T04:00"),
            ],
        ),
        (
            "by_boolean_time",
            [
                ("2013-03-09T11:30", "2013-03-09T11:30"),
                ("2013-03-10T10:30", "2013-03-10T10:30"),
            ],
        ),
        ("by_exclusion", [NEW_YORK_DAYS[0], NEW_YORK_DAYS[2]]),
        ("by_workdays", NEW_YORK_DAYS[2:]),
        ("by_trading_days", NEW_YORK_DAYS[2:]),
        ("once", [("2013-03-09T05:00", "2013-03-09T05:00")]),
        ("by_once_timetable", [("2013-03-09T05:00", "2013-03-09T05:00")]),
        ("by_hand", []),
        ("by_null_timetable", []),
    ],
)
def test_a_schedule_makes_its_runs_from_start_to_end(
    stack: Stack, dag_id: str, expected: list[tuple[str, str]]
) -> None:
    runs = wait_for_runs(stack, dag_id, len(expected))

    assert intervals(runs) == expected
    assert [run.run_id for run in runs] == [f"scheduled__{start}:00+00:00" for start, _ in expected]


def test_with_catchup_latest_only_the_latest_interval_is_run(stack: Stack) -> None:
    (run, *later) = stack.until(lambda _: stack.runs("latest_only") or None, "a run")

    row = run.wait().row
    assert row.interval_end - row.interval_start == timedelta(hours=1)
    assert row.interval_end <= known(row.started_at) < row.interval_end + timedelta(hours=1)
    assert len(later) <= 1  # an hour may have ended since
    assert known(stack.dag("latest_only").next_run_after) > row.interval_end


def test_a_dag_waits_for_its_start_date(stack: Stack) -> None:
    stack.until(lambda _: stack.dag("in_the_future").next_run_after, "its next run")

    assert stack.dag("in_the_future").next_run_after == datetime(2999, 1, 2, tzinfo=UTC)
    assert stack.runs("in_the_future") == []


def test_max_active_runs_is_observed(stack: Stack) -> None:
    rows = [run.row for run in wait_for_runs(stack, "one_after_another", 3)]

    assert intervals(stack.runs("one_after_another")) == NEW_YORK_DAYS
    for earlier, later in pairwise(rows):
        assert known(earlier.ended_at) <= known(later.started_at)


def test_a_paused_dag_has_no_runs_until_it_is_unpaused(stack: Stack) -> None:
    assert (stack.dag("paused").paused, stack.runs("paused")) == (True, [])

    assert stack.headway("dags", "unpause", "paused").returncode == 0
    assert len(wait_for_runs(stack, "paused", 1)) == 1


def test_a_continuous_dag_runs_again_and_again(stack: Stack) -> None:
    stack.until(lambda _: len(stack.runs("continuous")) >= 3 or None, "three runs")

    first, second, third = (run.wait().row for run in stack.runs("continuous")[:3])
    assert first.interval_end == second.interval_start
    assert second.interval_end == third.interval_start
    assert known(second.started_at) >= known(first.ended_at)
    stack.headway("dags", "pause", "continuous")


def test_max_active_tasks_is_observed(stack: Stack) -> None:
    run = stack.run("two_at_a_time")

    assert run.state == "success"
    slots = dict.fromkeys(run.tasks(), 1)
    assert most_at_once(run, slots) <= 2 <= most_at_once(run, slots, "queued_at")


def test_a_pool_gives_its_slot_to_the_most_urgent_task(stack: Stack) -> None:
    run = stack.trigger("by_priority")
    run.wait_for_task("weight_1", "scheduled")
    assert set(run.states().values()) == {"scheduled"}  # there is no such pool yet

    set_slots(stack, "narrow", 1)

    assert run.wait().state == "success"
    assert run.order() == ["weight_5", "weight_4", "weight_3", "weight_2", "weight_1"]
    assert most_at_once(run, dict.fromkeys(run.tasks(), 1)) == 1


def test_a_task_takes_its_slots_of_a_pool(stack: Stack) -> None:
    set_slots(stack, "three", 3)
    run = stack.trigger("wide_and_slim")
    others = [f"{kind}_{number}" for kind in ("wide", "slim") for number in range(3)]
    for task_id in others:
        run.wait_for_task(task_id, "success")

    slots = {task_id: 2 if task_id.startswith("wide") else 1 for task_id in others}
    assert most_at_once(run, slots) <= 3 <= most_at_once(run, slots, "queued_at")
    assert (run.states()["too_wide"], run.state) == ("scheduled", "running")

    set_slots(stack, "three", 4)
    assert run.wait().state == "success"


def test_a_task_waits_for_a_worker_of_its_queue(stack: Stack) -> None:
    run = stack.trigger("nobody_listens").wait_for_task("here", "success")

    assert (run.states()["elsewhere"], run.state) == ("scheduled", "running")
    told = stack.headway("explain", "nobody_listens", run.run_id, "elsewhere")
    assert "No worker that is alive serves its queue gpu." in told.stdout, told.stderr


def test_a_task_that_depends_on_the_past_waits_for_it(stack: Stack) -> None:
    first_day = datetime(2013, 1, 1, tzinfo=UTC)
    runs = stack.backfill("on_the_past", first_day, first_day + timedelta(days=4))
    for run in runs:
        run.wait_for_task("loose", "success")
    runs[2].wait_for_task("strict", "failed").wait()

    strict = [run.tasks()["strict"] for run in runs]
    assert [row.state for row in strict] == ["success", "success", "failed", "none", "none"]
    assert [run.state for run in runs] == ["success", "success", "failed", "running", "running"]
    for earlier, later in pairwise(strict[:3]):
        assert known(earlier.ended_at) <= known(later.started_at)
