"""Lists that are counted by reading them: few of them have more rows than a page may have."""

from typing import TypeVar

from headway.db.reads.pages.paging import MOST_ROWS, CappedTotal
from headway_api.airflow.listing import OffsetQuery, Read, ShownPage, shown
from headway_api.auth.caller import Caller

Row = TypeVar("Row")


def short(
    caller: Caller, query: OffsetQuery, read: Read[Row], *, descending: bool = False
) -> ShownPage[Row]:
    """Return the page of a short list that is asked for, and how many rows the list has."""
    first = read(caller.page(MOST_ROWS, descending=descending))
    total = CappedTotal(len(first.rows), exact=first.following is None)
    if not total.exact:
        return shown(caller, query, read, lambda: total, descending=descending)
    return ShownPage(list(first.rows)[query.offset : query.offset + query.limit], total.count)
