"""A grid as rows of SVG: one path for each state in a row, so that many cells are few elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from headway_api.native.dags.grid import GridColumn
from headway_api.pages.dags.grid_rows import GridSheet
from headway_api.pages.frame.outline_rows import ShownRow

CELL: Final = 16
"""Pixels from one cell to the next, both ways."""

ROWS: Final = 50
"""Rows that a page has of a grid of more tasks: a script draws those that are scrolled to."""

_GAP: Final = 2
_BAR: Final = 40
_LEAST: Final = 3
_STATE: Final = 15


@dataclass(frozen=True, slots=True)
class DrawnPath:
    """All cells of a row that are in one state."""

    state: str
    path: str
    count: int


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A row: its paths, and the path of the dots that mark further attempts."""

    row: ShownRow
    paths: Sequence[DrawnPath]
    retried: str

    @property
    def task_id(self) -> str:
        """The task, or the group."""
        return self.row.task_id

    @property
    def summary(self) -> str:
        """The row in words, for who cannot see it."""
        return ", ".join(f"{path.count} {path.state.replace('_', ' ')}" for path in self.paths)


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """A run, with the bar of its duration."""

    run: GridColumn
    x: int
    y: int
    height: int
    is_new_version: bool


@dataclass(frozen=True, slots=True)
class DrawnGrid:
    """A grid with the oldest run on the left; lengths are in pixels.

    `rows` are those of the `sheet` that are drawn, from the one at `first` on and before the one at
    `end`; there are none if a script has drawn them, as it does those of a `large` grid.
    """

    columns: Sequence[DrawnColumn]
    rows: Sequence[DrawnRow]
    sheet: GridSheet
    first: int
    end: int
    width: int
    cell: int = CELL
    bar: int = _BAR

    @property
    def names(self) -> list[str]:
        """The tasks and groups of all rows."""
        return [row.task_id for row in self.sheet.rows]

    @property
    def large(self) -> bool:
        """Whether there are more tasks than a page has rows, however many are folded."""
        return self.sheet.total > ROWS

    @property
    def is_whole(self) -> bool:
        """Whether every row is drawn."""
        return self.end - self.first == len(self.sheet.rows)


def drawn(sheet: GridSheet, first: int = 0, *, bare: bool = False) -> DrawnGrid:
    """Return all columns and rows; of a large grid ROWS at most, from the one at `first` on.

    A `bare` grid has columns alone.
    """
    columns, count = sheet.header.columns, len(sheet.rows)
    most = ROWS if sheet.total > ROWS else max(count, 1)
    first = min(first, max(count - 1, 0) // most * most)
    end = min(first + most, count)
    rows = [] if bare else [_row(sheet, nth) for nth in range(first, end)]
    return DrawnGrid(_columns(columns), rows, sheet, first, end, len(columns) * CELL)


def _row(sheet: GridSheet, nth: int) -> DrawnRow:
    places: dict[int, list[int]] = {}
    bytes_ = sheet.row(nth)[::-1]
    for place, byte in enumerate(bytes_):
        if byte & _STATE:
            places.setdefault(byte & _STATE, []).append(place)
    paths = [
        DrawnPath(str(sheet.header.states[code]), _squares(found), len(found))
        for code, found in sorted(places.items())
    ]
    tried = [place for place, byte in enumerate(bytes_) if byte & sheet.header.retried]
    return DrawnRow(sheet.rows[nth], paths, _dots(tried))


def _squares(places: Sequence[int]) -> str:
    return "".join(map(_square, places))


@cache
def _square(place: int) -> str:
    side = CELL - _GAP
    return f"M{place * CELL + 1} 1h{side}v{side}h-{side}z"


def _dots(places: Sequence[int]) -> str:
    return "".join(f"M{(place + 1) * CELL - 6} 3h3v3h-3z" for place in places)


def _columns(columns: Sequence[GridColumn]) -> list[DrawnColumn]:
    seconds = [_seconds(column) for column in columns]
    longest = max((each for each in seconds if each), default=None)
    found: list[DrawnColumn] = []
    for place, nth in enumerate(reversed(range(len(columns)))):
        height = _height(seconds[nth], longest)
        is_new = bool(found) and columns[nth].version != found[-1].run.version
        column = DrawnColumn(columns[nth], place * CELL, _BAR - height, height, is_new)
        found.append(column)
    return found


def _seconds(column: GridColumn) -> float | None:
    if column.started_at is None or column.ended_at is None:
        return None
    return (column.ended_at - column.started_at).total_seconds()


def _height(seconds: float | None, longest: float | None) -> int:
    if seconds is None or not longest:
        return _BAR
    return max(_LEAST, round(_BAR * seconds / longest))
