"""Pages by offset and by cursor of a list that is read in pieces."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from headway.db.reads.pages.paging import MOST_ROWS, Asked, CappedTotal, ListPage
from headway.domain.accounts import Account, AccountRole
from headway_api.airflow.listing import (
    MOST_READS,
    CursorQuery,
    OffsetQuery,
    ShownPage,
    shown,
)
from headway_api.auth.caller import Caller
from headway_api.auth.database import ApiDatabase

NO_DATABASE: ApiDatabase = None  # type: ignore[assignment]
CALLER = Caller(Account("ann", AccountRole.ADMIN), "user:ann", NO_DATABASE)


class PagedNumbers:
    """A list of so many numbers, of which a page has at most `piece`."""

    def __init__(self, numbers: int, piece: int = MOST_ROWS) -> None:
        self.numbers, self.piece, self.reads = range(numbers), piece, 0

    def read(self, asked: Asked) -> ListPage[int]:
        """Return a page; a cursor is the number that it follows."""
        self.reads += 1
        numbers = self.numbers[::-1] if asked.descending else self.numbers
        start = numbers.index(int(asked.cursor)) + 1 if asked.cursor else 0
        rows: Sequence[int] = numbers[start : start + min(asked.limit, self.piece)]
        more = start + len(rows) < len(numbers)
        first = str(rows[0]) if rows else None
        return ListPage(rows, str(rows[-1]) if more else None, first)

    def page(self, query: OffsetQuery, *, descending: bool = False) -> ShownPage[int]:
        """Return the page of that query."""
        total = CappedTotal(min(len(self.numbers), MOST_ROWS), exact=len(self.numbers) <= MOST_ROWS)
        return shown(CALLER, query, self.read, lambda: total, descending=descending)


@pytest.mark.parametrize("query", [OffsetQuery(limit=2), CursorQuery(limit=2, cursor="")])
def test_nothing_is_counted_again_that_the_first_page_tells(query: OffsetQuery) -> None:
    def read(asked: Asked) -> ListPage[int]:
        total = CappedTotal(7, exact=True) if asked.counted and not asked.cursor else None
        return ListPage([1], None if asked.cursor else "1", total=total)

    def count() -> CappedTotal:
        raise AssertionError("the page has told the total")

    page = shown(CALLER, query, read, count, descending=False)

    assert page.total_entries == 7


def test_an_offset_leaves_out_the_rows_before_it() -> None:
    page = PagedNumbers(10).page(OffsetQuery(limit=3, offset=4))

    assert (page.rows, page.total_entries, page.next_cursor) == ([4, 5, 6], 10, None)


def test_pieces_make_one_page() -> None:
    numbers = PagedNumbers(10, piece=2)

    assert numbers.page(OffsetQuery(limit=5, offset=1)).rows == [1, 2, 3, 4, 5]
    assert numbers.reads == 3


def test_so_many_pieces_are_read_for_a_page_and_no_more() -> None:
    numbers = PagedNumbers(500, piece=1)

    page = numbers.page(OffsetQuery(limit=100))

    assert (numbers.reads, len(page.rows)) == (MOST_READS, MOST_READS)


def test_who_goes_on_until_the_total_sees_every_row() -> None:
    numbers, seen, total = PagedNumbers(2_500), 0, 1
    while seen < total:
        page = numbers.page(OffsetQuery(limit=400, offset=seen))
        seen, total = seen + len(page.rows), page.total_entries

    assert seen == 2_500


def test_a_limit_beyond_the_largest_page_is_the_largest_page() -> None:
    assert OffsetQuery(limit=5_000).limit == MOST_ROWS
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        OffsetQuery(limit=0)
    with pytest.raises(ValueError, match="less than or equal to 10000"):
        OffsetQuery(offset=10_001)


@pytest.mark.parametrize("descending", [False, True])
def test_cursors_lead_forwards_and_back(*, descending: bool) -> None:
    numbers, cursor, pages = PagedNumbers(7), "", []
    while True:
        page = numbers.page(CursorQuery(limit=3, cursor=cursor), descending=descending)
        pages.append(page)
        if page.next_cursor is None:
            break
        cursor = page.next_cursor

    rows = [row for page in pages for row in page.rows]
    assert rows == list(numbers.numbers[::-1] if descending else numbers.numbers)
    assert pages[0].previous_cursor is None
    for before, after in pairwise(pages):
        query = CursorQuery(limit=3, cursor=after.previous_cursor)
        back = numbers.page(query, descending=descending)
        assert back.rows == before.rows
        again = numbers.page(CursorQuery(limit=3, cursor=back.next_cursor), descending=descending)
        assert again.rows == after.rows
