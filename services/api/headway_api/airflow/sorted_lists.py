"""Lists in an order that no index has: a short one is read as a whole, and sorted here."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from headway.db.reads.pages.paging import MOST_ROWS
from headway.domain.errors import RequestError
from headway_api.airflow.listing import CursorQuery, OffsetQuery, Read, ShownPage
from headway_api.airflow.ordering import Ordering, known
from headway_api.auth.caller import Caller

Row = TypeVar("Row")
SortKeys: TypeAlias = Mapping[str, Callable[[Row], Any]]
"""By attribute, what a row is compared by; None comes last, as in the database."""


def sorted_page(
    caller: Caller,
    query: OffsetQuery,
    read: Read[Row],
    keys: SortKeys[Row],
    orders: Sequence[Ordering],
) -> ShownPage[Row]:
    """Return a page of a list of at most 1,000 rows; RequestError for a longer one."""
    compared = [(known(keys, order), order.descending) for order in orders]
    by = ", ".join(order.attribute for order in orders)
    if isinstance(query, CursorQuery) and query.cursor:
        raise RequestError(f"A list that is ordered by {by} has no cursors; give an offset.")
    first = read(caller.page(MOST_ROWS))
    if first.following is not None:
        raise RequestError(
            f"There are more than {MOST_ROWS:,} rows, or they are hard to find; only a shorter "
            f"list is ordered by {by}. Filter it more narrowly, or leave order_by out."
        )
    rows = list(first.rows)
    for key, descending in reversed(compared):
        rows.sort(key=partial(_compared, key), reverse=descending)
    return ShownPage(rows[query.offset : query.offset + query.limit], len(rows))


def _compared(key: Callable[[Row], Any], row: Row) -> tuple[bool, Any]:
    value = key(row)
    return value is None, value
