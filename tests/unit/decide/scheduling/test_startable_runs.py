from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.scheduling.start import QueuedRun, placed, startable


def queue(*backfills: int | None) -> list[QueuedRun]:
    return [QueuedRun(number, backfill) for number, backfill in enumerate(backfills, start=1)]


def test_runs_start_in_order_while_there_is_room() -> None:
    assert startable(queue(None, None, None), {None: 2}) == [1, 2]


def test_without_room_none_starts() -> None:
    assert startable(queue(None), {None: 0}) == []
    assert startable(queue(None), {None: -3}) == []


def test_a_backfill_and_the_schedule_never_hold_each_other_up() -> None:
    runs = queue(7, None, 7, None, 8)

    assert startable(runs, {None: 1, 7: 1, 8: 1}) == [1, 2, 5]
    assert startable(runs, {None: 2, 7: 0, 8: 0}) == [2, 4]
    assert startable(runs, {None: 0, 7: 2}) == [1, 3]


def test_what_nobody_gave_room_to_does_not_start() -> None:
    assert startable(queue(7), {None: 5}) == []


def test_a_run_that_waits_for_a_parse_keeps_its_place_and_does_not_start() -> None:
    first, *others = queue(None, None, None)
    waiting = [replace(first, parse_requested=True), *others]

    assert startable(waiting, {None: 2}) == [2]
    assert [run.id for run in placed(waiting, {None: 2})] == [1, 2]


def test_the_room_that_was_given_is_left_as_it_is() -> None:
    free: dict[int | None, int] = {None: 1}

    startable(queue(None), free)

    assert free == {None: 1}


BACKFILLS = st.none() | st.integers(1, 3)


@given(st.lists(BACKFILLS), st.dictionaries(BACKFILLS, st.integers(-1, 5)))
def test_each_limit_is_kept_and_used_up(
    backfills: list[int | None], free: dict[int | None, int]
) -> None:
    started = startable(queue(*backfills), free)

    assert started == sorted(started)
    counted = Counter(backfills[number - 1] for number in started)
    for backfill, waiting in Counter(backfills).items():
        assert counted[backfill] == min(waiting, max(free.get(backfill, 0), 0))
