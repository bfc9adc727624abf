"""What all lists have in common: what is asked for, a page, a total, and how rows are found.

A list that grows is looked through in stretches of so many rows, in the order of an index.  A
filter is applied to the rows of a stretch.  So no filter, however rare what it matches, makes a
statement look at more rows than these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from headway.db.reads.pages.cursors import Key, PagedList
from headway.domain.errors import RequestError

Row = TypeVar("Row")

USUAL_ROWS: Final = 100
"""Rows of a page when nobody says how many."""

MOST_ROWS: Final = 1_000
"""Rows of the largest page, and the largest total that is counted."""

STRETCHES: Final = (MOST_ROWS + 1, 4_000, *(20_000 for _ in range(100)))
"""Rows that each statement looks at for one page, or total: most are full after the first."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which page of a list is asked for.

    `bundles` are those whose DAGs the reader may see, None for every bundle.  `cursor` is that of
    the page before, None for the first page.  With `counted`, a first page has the total as well.
    """

    bundles: Sequence[str] | None
    limit: int = USUAL_ROWS
    cursor: str | None = None
    descending: bool = False
    counted: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MOST_ROWS:
            raise RequestError(f"A page has between 1 and {MOST_ROWS} rows, not {self.limit}.")


@dataclass(frozen=True, slots=True)
class CappedTotal:
    """How many rows a list has: exactly `count`, or more than that.

    It is exact unless there are more than MOST_ROWS, or rows that match were too rare to count
    them all.
    """

    count: int
    exact: bool


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Row]):
    """Some rows of a list.

    `following` is the cursor of the rows that follow, None at the end of the list.  A page that
    has one may have fewer rows than were asked for, or none: rows that match were too rare.
    `preceding` is a cursor of the list in reverse: of the rows before the first one, the nearest
    first.  It is None for a page without rows, and for lists that are read forwards alone.
    `total` is None unless the first page was asked for with `counted`.  Lists whose total takes a
    statement of its own leave it None even then.
    """

    rows: Sequence[Row]
    following: str | None
    preceding: str | None = None
    total: CappedTotal | None = None


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Instants from `start` on, and before `end`; None where it has no such limit."""

    start: datetime | None = None
    end: datetime | None = None


ALWAYS: Final = TimeRange()


@dataclass(frozen=True, slots=True)
class DurationRange:
    """Seconds from `least` to `most`, both included; None where it has no such limit."""

    least: float | None = None
    most: float | None = None


ANY_DURATION: Final = DurationRange()


class Looked(NamedTuple):
    """What one statement has found: keys, how many rows match, and the key that it looked up to.

    `matching` is at most what was asked for.  `end` is None when the statement has not looked at
    as many rows as it might.
    """

    keys: Sequence[Key]
    matching: int
    end: Key | None


class FoundKeys(NamedTuple):
    """The keys of rows that match, and after which key to go on; None at the end of the list.

    `total` is None unless all that match were to be counted.
    """

    keys: Sequence[Key]
    following: Key | None
    total: CappedTotal | None = None


Look: TypeAlias = Callable[[Key | None, int, int, int], Looked]
"""`look(after, rows, most, shown)` looks at `rows` rows after a key, until `most` of them match.

It returns the first `shown` keys of those that match.
"""


def search(look: Look, after: Key | None, most: int, *, counted: bool = False) -> FoundKeys:
    """Return the first keys that match after that one, up to so many.

    With `counted`, a search from the beginning returns the total, too.
    """
    found: list[Key] = []
    counting = counted and after is None
    matching, enough = 0, MOST_ROWS + 1 if counting else most + 1
    for rows in STRETCHES:
        # One more than wanted tells whether there are more.
        looked = look(after, rows, enough - matching, most + 1 - len(found))
        found += looked.keys
        matching += looked.matching
        after = looked.end
        if after is None or matching >= enough:
            break
    following = found[most - 1] if len(found) > most else after
    total = CappedTotal(min(matching, MOST_ROWS), exact=after is None and matching <= MOST_ROWS)
    return FoundKeys(found[:most], following, total if counting else None)


def count(look: Look) -> CappedTotal:
    """Count the rows that match, as far as they are counted."""
    total = search(look, None, 1, counted=True).total
    assert total is not None
    return total


def capped(counted: int) -> CappedTotal:
    """Return the total of which a statement has counted one more than MOST_ROWS at most."""
    return CappedTotal(min(counted, MOST_ROWS), exact=counted <= MOST_ROWS)


def listed(
    rows: Sequence[Row], limit: int, listing: PagedList, key: Callable[[Row], Key]
) -> ListPage[Row]:
    """Return the page of these rows, of which one more was read than the page may have."""
    shown = rows[:limit]
    return ListPage(shown, listing.cursor(key(shown[-1])) if len(rows) > limit else None)


def contains(part: str) -> str:
    """Return the ILIKE pattern of texts that contain this, in which % and _ stand for anything."""
    return f"%{part}%"


def begins_with(prefix: str) -> str:
    """Return the ILIKE pattern of texts that begin with exactly this."""
    return f"{exactly(prefix)}%"


def exactly(whole: str) -> str:
    """Return the ILIKE pattern of texts that are this, in capitals or not."""
    for special in ("\\", "%", "_"):
        whole = whole.replace(special, f"\\{special}")
    return whole


def as_list(values: Sequence[object] | None) -> list[object] | None:
    """Return the values of a filter as a statement takes them; None, for any, stays None."""
    return None if values is None else [str(v) if isinstance(v, str) else v for v in values]
