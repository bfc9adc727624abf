"""Columns that are remembered: only those that stay as they are, and no more than so many."""

from datetime import UTC, datetime

from headway.decide.charts.grid import CODED, RETRIED
from headway.domain.states import TaskState
from headway_api.native.dags.ended_columns import ColumnKey, EndedColumns, RunColumn

SUCCESS, RUNNING = (CODED.index(it) + 1 for it in (TaskState.SUCCESS, TaskState.RUNNING))

WHEN = datetime(2024, 1, 1, tzinfo=UTC)


def key(run: int, state: str = "success") -> ColumnKey:
    return run, WHEN, state, WHEN, 1, b"rows"


def column(*states: int) -> RunColumn:
    return RunColumn(bytes(states), {})


def test_what_was_remembered_is_known_by_its_key_alone() -> None:
    ended = EndedColumns()
    done = column(SUCCESS, 0, SUCCESS + RETRIED)

    ended.remember({1: key(1)}, {1: done, 2: done})

    assert ended.known({1: key(1), 2: key(2)}) == {1: done}
    assert ended.known({1: key(1, "failed")}) == {}


def test_a_column_with_a_task_that_has_not_ended_is_read_again() -> None:
    ended = EndedColumns()
    ended.remember({1: key(1)}, {1: column(SUCCESS, RUNNING)})
    assert ended.known({1: key(1)}) == {}


def test_those_that_were_asked_for_last_stay() -> None:
    ended = EndedColumns(most_bytes=2 * column(SUCCESS, SUCCESS).size)
    for run in (1, 2):
        ended.remember({run: key(run)}, {run: column(SUCCESS, SUCCESS)})
    ended.known({1: key(1)})

    ended.remember({3: key(3)}, {3: column(SUCCESS, SUCCESS)})

    assert set(ended.known({run: key(run) for run in (1, 2, 3)})) == {1, 3}
