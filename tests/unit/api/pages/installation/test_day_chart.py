"""Runs of the last 24 hours, a row for each DAG."""

from datetime import UTC, datetime, timedelta

from headway.db.reads.pages.run_pages import ListedRun
from headway.db.reads.run_views import RunView
from headway.domain.states import RunState, RunType
from headway_api.pages.installation.day_chart import MOST_DAGS, day_chart

NOW = datetime(2024, 5, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)


def run(
    dag_id: str, state: RunState, began: float, ended: float | None = None, number: int = 1
) -> ListedRun:
    """A run that began, and has ended, so many hours ago."""
    start = NOW - began * HOUR
    view = RunView(
        dag_id=dag_id,
        run_id=f"{dag_id}_{number}",
        run_type=RunType.SCHEDULED,
        state=state,
        interval_start=NOW,
        interval_end=NOW,
        schedule_date=NOW,
        run_after=NOW,
        started_at=start,
        ended_at=None if ended is None else NOW - ended * HOUR,
        conf={},
        version=1,
        backfill_id=None,
    )
    return ListedRun(view, number, 1, start, "main", None, timed_out=False, version_created_at=NOW)


def test_a_run_is_where_it_was_and_as_wide_as_it_was_long() -> None:
    whole = day_chart([run("a", RunState.SUCCESS, 12, 6)], NOW)
    [bar] = whole.rows[0].bars
    assert (bar.x, bar.width, bar.title) == (50.0, 25.0, "a_1: success, 6 h")


def test_what_began_before_begins_at_the_edge_and_what_runs_ends_now() -> None:
    rows = day_chart([run("a", RunState.SUCCESS, 30, 18), run("b", RunState.RUNNING, 6)], NOW).rows
    assert [(row.dag_id, row.bars[0].x, row.bars[0].width) for row in rows] == [
        ("b", 75.0, 25.0),
        ("a", 0.0, 25.0),
    ]


def test_the_shortest_run_is_seen_also_at_the_end() -> None:
    [row] = day_chart([run("a", RunState.RUNNING, 0), run("a", RunState.SUCCESS, 1, 1)], NOW).rows
    assert all(bar.width == 0.25 and bar.x + bar.width <= 100 for bar in row.bars)


def test_failures_come_first_and_what_there_is_no_room_for_is_counted() -> None:
    runs = [run(f"dag_{nth:02}", RunState.SUCCESS, 2, 1) for nth in range(MOST_DAGS + 3)]
    found = day_chart([*runs, run("zoo", RunState.FAILED, 2, 1)], NOW)
    assert [row.dag_id for row in found.rows[:2]] == ["zoo", "dag_00"]
    assert (len(found.rows), found.more) == (MOST_DAGS, 4)
