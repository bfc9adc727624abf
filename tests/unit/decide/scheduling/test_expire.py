"""Which rows make up a portion, and how long the database is left alone after it."""

from datetime import UTC, datetime, timedelta

from headway.decide.scheduling.expire import Candidate, RetentionCursor, enabled, portion, rest
from headway.domain.retention import KeepReason, RetainedKind

FIRST = datetime(2024, 1, 1, tzinfo=UTC)


def row(
    number: int, size: int = 1, keep_reason: KeepReason | None = None, *, is_old: bool = True
) -> Candidate:
    return Candidate(number, FIRST + timedelta(days=number), size, keep_reason, is_old)


def test_rows_are_taken_until_there_are_enough() -> None:
    found = portion([row(1, 40), row(2, 50), row(3, 20), row(4, 1)], 4, 100)

    assert (found.ids, found.size) == ([1, 2], 90)
    assert found.next == RetentionCursor(FIRST + timedelta(days=2), 2)
    assert (found.since, found.until) == (row(1).at, row(2).at)


def test_one_row_is_taken_however_large_it_is() -> None:
    assert portion([row(1, 10_000), row(2)], 2, 100).ids == [1]


def test_what_is_needed_stays_and_is_passed_over() -> None:
    found = portion(
        [row(1, keep_reason=KeepReason.LATEST), row(2), row(3, keep_reason=KeepReason.OTHER)],
        3,
        100,
    )

    assert found.ids == [2]
    assert found.kept == {KeepReason.LATEST: 1}
    assert found.next == RetentionCursor(row(3).at, 3)


def test_what_is_needed_takes_no_room() -> None:
    assert portion([row(1, 100), row(2, 500, KeepReason.PAST), row(3, 1)], 3, 101).ids == [1, 3]


def test_a_young_row_ends_the_look() -> None:
    found = portion([row(1), row(2, is_old=False), row(3)], 3, 100)

    assert (found.ids, found.next) == ([1], None)


def test_fewer_rows_than_were_asked_for_are_the_last_ones() -> None:
    assert portion([row(1), row(2)], 3, 100).next is None
    assert portion([row(1), row(2)], 2, 100).next == RetentionCursor(row(2).at, 2)
    assert portion([], 3, 100).next is None


def test_a_portion_that_is_full_is_not_the_last_one() -> None:
    assert portion([row(1, 100), row(2)], 3, 100).next == RetentionCursor(row(1).at, 1)


def test_the_rest_is_longer_than_the_portion_took() -> None:
    assert rest(0.4, contended=False) > 0.4
    assert rest(0.0, contended=False) > 0
    assert rest(0.4, contended=True) > rest(0.4, contended=False)


def test_what_is_kept_for_ever_is_left_out() -> None:
    assert enabled({RetainedKind.RUNS: 30, RetainedKind.EVENTS: 0}) == {
        RetainedKind.RUNS: 30 * 86_400
    }
