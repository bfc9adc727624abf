"""Missed and overlapping runs, with real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from headway.testing.data.known import known
from headway.testing.services.stack import Stack, running_stack

pytestmark = [pytest.mark.services, pytest.mark.long]

DAGS = Path(__file__).parents[1] / "dags" / "catchup"
MIDNIGHTS = ["2013-03-09T05:00", "2013-03-10T05:00", "2013-03-11T04:00", "2013-03-12T04:00"]
"""In New York, in UTC; the clocks are changed on the second day."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("catchup"), DAGS, schedulers=2) as stack:
        yield stack


def skipped(stack: Stack, dag_id: str) -> list[str]:
    """Return why intervals of the DAG have no run of their own, oldest first."""
    reasons = text("SELECT reason FROM skipped_interval WHERE dag_id = :dag ORDER BY schedule_date")
    with stack.engine.connect() as conn:
        return list(conn.scalars(reasons, {"dag": dag_id}))


@pytest.mark.parametrize(
    ("dag_id", "expected", "reasons"),
    [
        ("none", [], ["catchup"]),
        ("latest", [(2, 3)], ["catchup"]),
        ("all", [(0, 1), (1, 2), (2, 3)], []),
        ("rollup", [(0, 3)], ["rollup"]),
    ],
)
def test_what_was_missed(
    stack: Stack, dag_id: str, expected: list[tuple[int, int]], reasons: list[str]
) -> None:
    def decided(_: object) -> bool:
        return len(stack.runs(dag_id)) == len(expected) and len(skipped(stack, dag_id)) == len(
            reasons
        )

    stack.until(decided, f"what was missed of {dag_id}")

    assert skipped(stack, dag_id) == reasons
    runs = [run.wait() for run in stack.runs(dag_id)]
    assert [run.state for run in runs] == ["success"] * len(expected)
    rows = [run.row for run in runs]
    assert [(f"{run.interval_start:%FT%R}", f"{run.interval_end:%FT%R}") for run in rows] == [
        (MIDNIGHTS[first], MIDNIGHTS[last]) for first, last in expected
    ]
    assert stack.dag(dag_id).next_run_after is None


def test_a_task_is_told_of_the_last_run_that_succeeded(stack: Stack) -> None:
    runs = stack.until(
        lambda _: runs if len(runs := stack.runs("after_a_failure")) == 3 else None, "three runs"
    )
    first, second, third = (run.wait() for run in runs)

    assert [run.state for run in (first, second, third)] == ["success", "failed", "success"]
    dates = [known(at).isoformat() for at in (first.row.started_at, first.row.ended_at)]
    before = [f"{midnight}:00+00:00" for midnight in MIDNIGHTS[:2]]
    assert first.xcom("show") == [None] * 4
    assert second.xcom("show") == third.xcom("show") == before + dates
    assert f"{before[1].replace('T', ' ')}\n" in third.log("fail_on_the_second_day")


@pytest.fixture
def unpaused(stack: Stack, request: pytest.FixtureRequest) -> Iterator[str]:
    dag_id: str = request.param
    assert stack.headway("dags", "unpause", dag_id).returncode == 0
    yield dag_id
    assert stack.headway("dags", "pause", dag_id).returncode == 0
    for run in stack.runs(dag_id):
        stack.headway("runs", "cancel", dag_id, run.run_id)


@pytest.mark.parametrize("unpaused", ["queue"], indirect=True)
def test_runs_that_overlap_queue(stack: Stack, unpaused: str) -> None:
    def full(_: object) -> bool:
        return [run.state for run in stack.runs(unpaused)] == ["running"] * 3

    stack.until(full, "as many runs as may be active")

    assert skipped(stack, unpaused) == []


@pytest.mark.parametrize("unpaused", ["skip"], indirect=True)
def test_runs_that_overlap_are_skipped(stack: Stack, unpaused: str) -> None:
    stack.until(lambda _: len(skipped(stack, unpaused)) >= 3, "three runs to be skipped")

    assert set(skipped(stack, unpaused)) == {"overlap"}
    assert len(stack.runs(unpaused)) == 1


@pytest.mark.parametrize("unpaused", ["cancel_running"], indirect=True)
def test_a_run_takes_the_place_of_the_one_before(stack: Stack, unpaused: str) -> None:
    def replaced(_: object) -> bool:
        return [run.state for run in stack.runs(unpaused)][:2] == ["failed"] * 2

    stack.until(replaced, "two runs to be cancelled")

    with stack.engine.connect() as conn:
        cancelled = text("""
            SELECT run_id, details ->> 'reason' AS reason FROM event
             WHERE dag_id = :dag AND action = 'run.cancel' ORDER BY id LIMIT 2
        """)
        found = conn.execute(cancelled, {"dag": unpaused}).all()
    assert {row.run_id for row in found} <= {run.run_id for run in stack.runs(unpaused)}
    assert {row.reason for row in found} == {"overlap"}
