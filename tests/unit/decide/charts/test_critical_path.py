"""The critical path: contiguous, from the start of the run to its end, through the dependencies."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.decide.charts.critical_path import (
    PathPiece,
    PieceKind,
    TimedAttempt,
    TimedTask,
    critical_path,
    indexes_in_groups,
    seconds_by_kind,
)
from headway.domain.states import TaskState
from headway.testing.data.seed import START

Times = tuple[float | None, float | None, float | None]
NOW = START + timedelta(seconds=1000)


def at(seconds: float | None) -> datetime | None:
    return None if seconds is None else START + timedelta(seconds=seconds)


def task(
    name: str,
    *tried: Times,
    above: Sequence[str] = (),
    ended: float | None = None,
    state: TaskState = TaskState.SUCCESS,
    scheduled: float | None = None,
) -> TimedTask:
    """A task whose attempts were queued, started and ended after so many seconds."""
    attempts = []
    for number, (queued, started, end) in enumerate(tried, start=1):
        queued_at = at(queued)
        assert queued_at is not None
        attempts.append(TimedAttempt(number, queued_at, at(started), at(end)))
    last = ended if ended is not None or not tried else tried[-1][2]
    return TimedTask(
        name, -1, state, tuple(above), "pool", "queue", at(scheduled), at(last), tuple(attempts)
    )


def told(pieces: Sequence[PathPiece]) -> list[tuple[str, str, float, float]]:
    return [
        (
            piece.task_id,
            str(piece.kind),
            (piece.start - START).total_seconds(),
            (piece.end - START).total_seconds(),
        )
        for piece in pieces
    ]


def test_waiting_and_running_are_told_apart() -> None:
    found = critical_path([task("a", (1, 3, 10))], START, NOW)

    assert told(found) == [
        ("a", "scheduling", 0, 1),
        ("a", "queued", 1, 3),
        ("a", "running", 3, 10),
    ]
    assert [piece.attempt for piece in found] == [1, 1, 1]
    assert seconds_by_kind(found) == {
        PieceKind.SCHEDULING: 1,
        PieceKind.QUEUED: 2,
        PieceKind.RUNNING: 7,
        PieceKind.RETRY: 0,
    }


def test_the_path_goes_through_the_task_that_ended_last() -> None:
    found = critical_path(
        [
            task("short", (0, 0, 5)),
            task("long", (0, 0, 20)),
            task("below", (22, 22, 30), above=("short", "long")),
            task("aside", (0, 0, 29)),
        ],
        START,
        NOW,
    )

    assert told(found) == [
        ("long", "running", 0, 20),
        ("below", "scheduling", 20, 22),
        ("below", "running", 22, 30),
    ]


def test_the_time_between_two_attempts_is_told() -> None:
    found = critical_path([task("a", (0, 1, 4), (9, 10, 12))], START, NOW)

    assert told(found) == [
        ("a", "queued", 0, 1),
        ("a", "running", 1, 4),
        ("a", "retry", 4, 9),
        ("a", "queued", 9, 10),
        ("a", "running", 10, 12),
    ]


def test_an_upstream_task_that_ended_after_the_task_began_was_not_waited_for() -> None:
    found = critical_path(
        [
            task("first", (0, 0, 2)),
            task("late", (0, 0, 9)),
            task("b", (2, 2, 10), above=("first", "late")),
        ],
        START,
        NOW,
    )

    assert [name for name, *_ in told(found)] == ["first", "b"]


def test_a_path_of_a_run_that_goes_on_ends_now() -> None:
    running = critical_path(
        [task("a", (0, 0, 5)), task("b", (6, 7, None), above=("a",), state=TaskState.RUNNING)],
        START,
        NOW,
    )
    waiting = critical_path(
        [task("a", (0, 0, 5)), task("b", above=("a",), state=TaskState.SCHEDULED, scheduled=5)],
        START,
        NOW,
    )

    assert told(running)[-1] == ("b", "running", 7, 1000)
    assert told(waiting)[-1] == ("b", "scheduling", 5, 1000)
    assert waiting[-1].attempt is None


def test_what_has_not_begun_is_no_part_of_it() -> None:
    nothing = [task("a", state=TaskState.NONE), task("b", state=TaskState.NONE, above=("a",))]
    cleared = [task("a", (0, 0, 5)), task("b", (5, 5, None), state=TaskState.NONE, above=("a",))]

    assert critical_path(nothing, START, NOW) == []
    assert told(critical_path(cleared, START, NOW)) == [("a", "running", 0, 5)]


def test_a_skipped_task_passes_the_path_on() -> None:
    found = critical_path(
        [
            task("a", (0, 0, 5)),
            task("skipped", above=("a",), ended=6, state=TaskState.SKIPPED),
            task("c", (7, 7, 9), above=("skipped",)),
        ],
        START,
        NOW,
    )

    assert told(found) == [
        ("a", "running", 0, 5),
        ("skipped", "scheduling", 5, 6),
        ("c", "scheduling", 6, 7),
        ("c", "running", 7, 9),
    ]


def test_what_ended_before_the_run_was_started_again_is_left_out() -> None:
    again = START + timedelta(seconds=100)
    found = critical_path(
        [task("a", (0, 0, 5)), task("b", (5, 5, 8), (101, 102, 110), above=("a",))], again, NOW
    )

    assert told(found) == [
        ("b", "scheduling", 100, 101),
        ("b", "queued", 101, 102),
        ("b", "running", 102, 110),
    ]


def test_a_task_that_was_cleared_with_those_above_it_waits_for_their_second_end() -> None:
    found = critical_path(
        [task("a", (0, 0, 5), (20, 20, 30)), task("b", (5, 5, 9), (31, 31, 40), above=("a",))],
        START,
        NOW,
    )

    assert told(found)[-3:] == [
        ("a", "running", 20, 30),
        ("b", "scheduling", 30, 31),
        ("b", "running", 31, 40),
    ]


moments = st.lists(st.floats(0, 900), min_size=3, max_size=9).map(sorted)


@st.composite
def timed(draw: st.DrawFn) -> list[TimedTask]:
    """Tasks with any times and any upstream tasks among those before them."""
    found: list[TimedTask] = []
    for number in range(draw(st.integers(1, 6))):
        times = draw(moments)
        tried: list[Times] = [
            (times[n], times[n + 1], times[n + 2]) for n in range(0, len(times) - 2, 3)
        ]
        above = draw(st.sets(st.sampled_from([each.task_id for each in found]))) if found else set()
        found.append(task(f"t{number}", *tried, above=sorted(above)))
    return found


@given(timed())
def test_pieces_follow_each_other_from_the_start_to_the_last_end(tasks: list[TimedTask]) -> None:
    found = critical_path(tasks, START, NOW)

    ends = [each.ended_at for each in tasks if each.ended_at is not None]
    assert all(first.end == second.start for first, second in pairwise(found))
    assert all(piece.start < piece.end for piece in found)
    if max(ends) > START:
        assert (found[0].start, found[-1].end) == (START, max(ends))
    order = [each.task_id for each in tasks]
    places = [order.index(piece.task_id) for piece in found]
    assert places == sorted(places)


def instance(name: str, map_index: int, ended: float | None) -> TimedTask:
    return replace(task(name, ended=ended), map_index=map_index)


GROUPS = {"a": "g", "b": "g", "c": "h", "d": "none"}


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        ({"a": (2, 9.0), "b": (1, 8.0), "c": (4, 1.0)}, {"a": 2, "b": 2, "c": 4}),
        ({"a": (2, 9.0), "b": (1, None), "c": (4, 1.0)}, {"a": 1, "b": 1, "c": 4}),
        ({"a": (2, None), "b": (1, 8.0), "d": (-1, 1.0)}, {"a": 2, "b": 2}),
        ({"other": (3, 1.0)}, {}),
    ],
)
def test_the_path_leads_through_a_mapped_group_by_the_map_index_that_ends_last(
    ends: dict[str, tuple[int, float | None]], found: dict[str, int]
) -> None:
    tasks = [instance(name, *where) for name, where in ends.items()]

    assert indexes_in_groups(tasks, GROUPS) == found
