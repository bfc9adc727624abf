"""Lists as Airflow's clients page through them: by offset, or by cursors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Generic, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from headway.db.reads.pages.paging import MOST_ROWS, Asked, CappedTotal, ListPage
from headway_api.auth.caller import Caller

Row = TypeVar("Row")
Read: TypeAlias = Callable[[Asked], ListPage[Row]]
Count: TypeAlias = Callable[[], CappedTotal]

FARTHEST: Final = 10_000
"""The largest offset; cursors go on from there at no cost."""

MOST_READS: Final = 20
"""Pages that are read for one page by offset: what matches may be rare."""

_BACKWARDS: Final = "."
"""What a cursor begins with that leads to the page before; no other cursor does."""

USUAL: Final = 50
"""The limit of who gives none; `airflowctl dagrun list` gives one without a number."""

Limit: TypeAlias = Annotated[
    int,
    Field(ge=1),
    BeforeValidator(lambda given: given if given != "" else USUAL),
    AfterValidator(lambda given: min(given, MOST_ROWS)),
]


class OffsetQuery(BaseModel):
    """Which page of a list is asked for; a limit beyond 1,000 is 1,000."""

    model_config = ConfigDict(extra="forbid")

    limit: Limit = USUAL
    offset: int = Field(default=0, ge=0, le=FARTHEST)


class CursorQuery(OffsetQuery):
    """Which page of a list is asked for; with a cursor, which may be empty, there is no offset."""

    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ShownPage(Generic[Row]):
    """A page of a list, and how many rows it has.

    `total_entries` is exact, unless it is `total_entries_limit` or more: then there are at least
    so many.
    """

    rows: list[Row]
    total_entries: int
    next_cursor: str | None = None
    previous_cursor: str | None = None
    total_entries_limit: int = MOST_ROWS


def shown(
    caller: Caller, query: OffsetQuery, read: Read[Row], count: Count, *, descending: bool
) -> ShownPage[Row]:
    """Return the page of a list that is asked for.

    `count` is called where the page that is read has no total.
    """
    cursor = query.cursor if isinstance(query, CursorQuery) else None
    if cursor is None:
        return _by_offset(caller, query, read, count, descending=descending)
    if cursor.startswith(_BACKWARDS):
        page = read(caller.page(query.limit, cursor[1:], descending=not descending))
        rows, following, preceding = list(page.rows)[::-1], page.preceding, page.following
    else:
        page = read(caller.page(query.limit, cursor, descending=descending, counted=True))
        rows, following, preceding = list(page.rows), page.following, page.preceding
    back = _BACKWARDS + preceding if cursor and preceding is not None else None
    return ShownPage(rows, (page.total or count()).count, following, back)


def _by_offset(
    caller: Caller, query: OffsetQuery, read: Read[Row], count: Count, *, descending: bool
) -> ShownPage[Row]:
    wanted = query.offset + query.limit
    rows: list[Row] = []
    cursor: str | None = None
    total: CappedTotal | None = None
    for _ in range(MOST_READS):
        limit = min(wanted - len(rows), MOST_ROWS)
        page = read(caller.page(limit, cursor, descending=descending, counted=True))
        total = total or page.total
        rows += page.rows
        cursor = page.following
        if cursor is None or len(rows) == wanted:
            break
    # Who goes on until the offset is the total must not end at the largest that is counted.
    counted = (total or count()).count
    known = counted if cursor is None else max(counted, len(rows) + 1)
    return ShownPage(rows[query.offset :], known)
