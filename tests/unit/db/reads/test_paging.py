"""Rows that match are found one stretch after the other."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import Key, PagedList
from headway.db.reads.pages.paging import (
    MOST_ROWS,
    STRETCHES,
    Asked,
    CappedTotal,
    FoundKeys,
    Look,
    Looked,
)
from headway.domain.errors import RequestError

MOST_LOOKED_AT = sum(STRETCHES)


def numbers(count: int, step: int = 1) -> Look:
    """A list of so many numbers, of which each `step`-th matches."""

    def look(after: Key | None, rows: int, most: int, shown: int) -> Looked:
        first = 0 if after is None else int(str(after[0])) + 1
        last = min(first + rows, count)
        matching = [(number,) for number in range(first, last) if number % step == 0]
        end = (last - 1,) if last - first == rows and len(matching) <= most else None
        return Looked(matching[: min(most, shown)], min(len(matching), most), end)

    return look


@given(st.integers(0, 12_000), st.integers(1, 3_000), st.integers(1, 1_000))
def test_pages_joined_are_the_whole_list(count: int, step: int, most: int) -> None:
    look = numbers(count, step)
    found: list[Key] = []
    after: Key | None = None
    while True:
        page = paging.search(look, after, most)
        found += page.keys
        assert len(page.keys) <= most
        if (after := page.following) is None:
            break

    assert found == [(number,) for number in range(0, count, step)]


def test_a_search_ends_though_nothing_matches() -> None:
    found = paging.search(numbers(10 * MOST_LOOKED_AT, 10 * MOST_LOOKED_AT), (0,), 1)

    assert found == FoundKeys([], (MOST_LOOKED_AT,))


@given(st.integers(0, 12_000), st.integers(1, 3_000), st.integers(1, 1_000))
def test_a_first_page_with_a_total_is_that_page_and_that_total(
    count: int, step: int, most: int
) -> None:
    look = numbers(count, step)
    page = paging.search(look, None, most)

    assert page.total is None
    assert paging.search(look, None, most, counted=True) == page._replace(total=paging.count(look))
    assert paging.count(look).count == min(len(range(0, count, step)), MOST_ROWS)


def test_a_page_after_the_first_has_no_total() -> None:
    assert paging.search(numbers(10), (3,), 2, counted=True).total is None


@pytest.mark.parametrize(
    ("count", "total"),
    [
        (0, CappedTotal(0, exact=True)),
        (MOST_ROWS, CappedTotal(MOST_ROWS, exact=True)),
        (MOST_ROWS + 1, CappedTotal(MOST_ROWS, exact=False)),
    ],
)
def test_a_total_is_capped(count: int, total: CappedTotal) -> None:
    assert paging.count(numbers(count)) == total
    assert paging.capped(count) == total


@pytest.mark.parametrize("limit", [0, -1, MOST_ROWS + 1])
def test_a_page_has_between_one_row_and_a_thousand(limit: int) -> None:
    with pytest.raises(RequestError, match="between 1 and 1000 rows"):
        Asked(None, limit=limit)


def test_a_page_leads_on_only_when_there_is_more() -> None:
    listing = PagedList("tags", (str,))

    def page(*tags: str) -> tuple[list[str], str | None]:
        found = paging.listed(tags, 2, listing, lambda tag: (tag,))
        return [*found.rows], found.following

    assert page() == ([], None)
    assert page("a", "b") == (["a", "b"], None)
    assert page("a", "b", "c") == (["a", "b"], listing.cursor(("b",)))


def test_stretches_grow() -> None:
    assert all(before <= after for before, after in pairwise(STRETCHES))


def test_wildcards_of_a_prefix_stand_for_themselves() -> None:
    assert paging.begins_with("a_b%") == r"a\_b\%%"
    assert paging.contains("a_b") == "%a_b%"
