"""Deadlines: met if what they are of ended by then, missed if not, and decided no earlier."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway.decide.explain.deadlines import explain_deadlines
from headway.decide.explain.snapshot import DeadlineRow
from headway.decide.scheduling.deadlines import (
    PATIENCE,
    SHORTEST_LOOK,
    OpenDeadline,
    judge,
    of_task,
)
from headway.domain.states import DeadlineState

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
OVER = NOON + PATIENCE


def deadline(**given: Any) -> OpenDeadline:
    usual: dict[str, Any] = {
        "id": 1,
        "dag_run_id": 2,
        "dag_id": "etl",
        "run_id": "r",
        "task_id": None,
        "name": "1:00:00 after due",
        "known": True,
        "seconds": 3600.0,
        "due_at": NOON,
        "started_at": None,
        "ended_at": None,
    }
    return OpenDeadline(**{**usual, **given})


@pytest.mark.parametrize(
    ("ended_at", "expected"),
    [
        (None, DeadlineState.MISSED),
        (NOON - SECOND, DeadlineState.MET),
        (NOON, DeadlineState.MET),
        (NOON + timedelta(microseconds=1), DeadlineState.MISSED),
    ],
)
def test_what_ends_by_its_deadline_is_in_time(
    ended_at: datetime | None, expected: DeadlineState
) -> None:
    judged = judge(deadline(ended_at=ended_at), OVER)

    assert (judged.state, judged.due_at) == (expected, NOON)


def test_it_is_not_judged_before_what_ends_just_in_time_is_stored() -> None:
    judged = judge(deadline(), OVER - timedelta(microseconds=1))

    assert (judged.state, judged.check_at) == (DeadlineState.OPEN, OVER)


def test_one_that_the_version_of_the_run_does_not_have_is_withdrawn() -> None:
    assert judge(deadline(known=False), OVER).state is DeadlineState.WITHDRAWN


@pytest.mark.parametrize(("seconds", "wait"), [(3600.0, 3600.0), (1.0, SHORTEST_LOOK)])
def test_one_from_the_start_is_looked_at_again_while_the_run_waits(
    seconds: float, wait: float
) -> None:
    judged = judge(deadline(due_at=None, seconds=seconds), NOON)

    assert judged.state is DeadlineState.OPEN
    assert judged.due_at is None
    assert judged.check_at == NOON + timedelta(seconds=wait)


def test_one_from_the_start_is_due_so_many_seconds_after_it() -> None:
    judged = judge(deadline(due_at=None, seconds=60.0, started_at=NOON - 30 * SECOND), NOON)

    assert judged.due_at is None  # a clear may have the run start anew
    assert (judged.state, judged.check_at) == (DeadlineState.OPEN, NOON + 30 * SECOND + PATIENCE)
    late = judge(deadline(due_at=None, seconds=60.0, started_at=NOON - 61 * SECOND), NOON)
    assert (late.state, late.due_at) == (DeadlineState.MISSED, NOON - SECOND)


def test_a_run_that_was_ended_without_a_start_is_in_time() -> None:
    assert judge(deadline(due_at=None, ended_at=NOON), NOON).state is DeadlineState.MET


def test_a_task_has_ended_with_its_run_at_the_latest() -> None:
    task = deadline(task_id="a", ended_at=NOON)

    assert of_task(task, None).ended_at == NOON
    assert of_task(task, NOON - SECOND).ended_at == NOON - SECOND
    assert of_task(deadline(task_id="a"), None).ended_at is None


def test_an_explanation_tells_open_and_missed_deadlines_of_the_run_and_the_task() -> None:
    row = DeadlineRow(
        task_id=None, deadline="1:00:00 after due", due_at=NOON, state=DeadlineState.OPEN
    )
    rows = [
        row,
        replace(row, state=DeadlineState.MET),
        replace(row, task_id="a", state=DeadlineState.MISSED),
        replace(row, task_id="b"),
        replace(row, due_at=None, deadline="0:01:00 after start"),
    ]

    assert list(explain_deadlines(rows, "a", NOON - 60 * SECOND)) == [
        "The run has a deadline, 1:00:00 after due: 2024-01-01T12:00:00Z (in 60 s).",
        "The task has missed its deadline, 1:00:00 after due: 2024-01-01T12:00:00Z (in 60 s).",
        "The run has a deadline, 0:01:00 after start, which begins with the run.",
    ]
