"""Draw a graph of tasks with text, one line a task, as far as that can be read.

A column is an edge on its way down.  Edges that lead to the same task run in columns of their own
until they meet right above it; where a line crosses a column it passes behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

MOST_TASKS: Final = 30
MOST_COLUMNS: Final = 20
"""Beyond either a drawing is no help any more."""

Row: TypeAlias = tuple[str, str | None]
"""The columns as text, and the task that has its place in them, if one has."""

_NODE: Final = "●"
_EDGE: Final = "│"


@dataclass(slots=True)
class _Columns:
    """Which task each column leads to; None where it is free."""

    targets: list[str | None] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    widest: int = 0

    def add(self, task_id: str, downstream: Sequence[str]) -> None:
        """Draw a task below the columns that lead to it, and those that lead on from it."""
        here = self._arrive(task_id)
        self.rows.append((self._line({here: _NODE}), task_id))
        self.targets[here] = downstream[0] if downstream else None
        opened = [self._open(here, target) for target in downstream[1:]]
        if opened:
            self.rows.append((self._across(here, sorted(opened), "┬", "╮"), None))

    def _arrive(self, task_id: str) -> int:
        arriving = [place for place, target in enumerate(self.targets) if target == task_id]
        if not arriving:
            here = self._open(-1, task_id)
            if self._last_sign(here) != " ":  # or it would seem to come after the one above
                self.rows.append((self._line({here: " "}), None))
            return here
        here, *others = arriving
        if others:
            self.rows.append((self._across(here, others, "┴", "╯"), None))
        for place in others:
            self.targets[place] = None
        return here

    def _last_sign(self, place: int) -> str:
        line = self.rows[-1][0] if self.rows else ""
        return line[2 * place : 2 * place + 1] or " "

    def _open(self, after: int, target: str) -> int:
        free = [place for place, its in enumerate(self.targets) if its is None and place > after]
        if free:
            self.targets[free[0]] = target
            return free[0]
        self.targets.append(target)
        self.widest = max(self.widest, len(self.targets))
        return len(self.targets) - 1

    def _line(self, marks: Mapping[int, str]) -> str:
        signs = [
            marks.get(place) or (_EDGE if target is not None else " ")
            for place, target in enumerate(self.targets)
        ]
        return " ".join(signs).rstrip()

    def _across(self, here: int, others: Sequence[int], on: str, last: str) -> str:
        marks = dict.fromkeys(others, on) | {others[-1]: last, here: "├"}
        line = ""
        for place, target in enumerate(self.targets):
            between = here < place < others[-1]
            sign = _EDGE if target is not None else "─" if between else " "
            line += marks.get(place, sign) + ("─" if here <= place < others[-1] else " ")
        return line.rstrip()


def draw(downstream: Mapping[str, Sequence[str]]) -> list[Row] | None:
    """Return the rows of a drawing; None when it would be too large to be read.

    Tasks come in topological order, each with those right below it.
    """
    if len(downstream) > MOST_TASKS:
        return None
    order = {task_id: place for place, task_id in enumerate(downstream)}
    columns = _Columns()
    for task_id, below in downstream.items():
        columns.add(task_id, sorted(below, key=order.__getitem__))
        if columns.widest > MOST_COLUMNS:
            return None
    width = max((len(line) for line, _ in columns.rows), default=0)
    return [(line.ljust(width) if task else line, task) for line, task in columns.rows]
