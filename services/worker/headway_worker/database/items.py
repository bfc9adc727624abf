"""What mapped tasks are expanded over: read once, and kept for the instances that follow."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from sqlalchemy import Connection, Engine

from headway.db.core.engine import reader
from headway.db.execution import xcoms
from headway.db.execution.attempts import Claimed
from headway.domain.errors import ConflictError
from headway.domain.xcoms import XComItem, items_of

MOST_LISTS: Final = 16
MOST_ITEMS: Final = 200_000
"""What is kept at most, over all lists; the one read last is kept whatever its length."""


@dataclass(slots=True)
class KeptItems:
    """The lists that were used last, by what they can be told by.  For any thread."""

    _lists: OrderedDict[object, Sequence[Any]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: object, read: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Return the list; it is read once, even when several threads ask for it at a time."""
        with self._lock:
            if key not in self._lists:
                self._lists[key] = read()
            self._lists.move_to_end(key)
            while len(self._lists) > 1 and self._too_much():
                self._lists.popitem(last=False)
            return self._lists[key]

    def _too_much(self) -> bool:
        items = sum(map(len, self._lists.values()))
        return len(self._lists) > MOST_LISTS or items > MOST_ITEMS


@dataclass(slots=True)
class MappedItems:
    """Answers to the instances of mapped tasks, which ask for one item at a time.

    What a task has left is kept as a list.  Of a mapped upstream task only the numbers of
    the instances that have left something are kept, for their values may be large.
    """

    engine: Engine
    _kept: KeptItems = field(default_factory=KeptItems)

    def length(self, claimed: Claimed, task_id: str, key: str) -> int:
        """Return how many items the XCom has."""
        with reader(self.engine).connect() as conn:
            found = xcoms.source(conn, claimed.key, claimed.dag_run_id, task_id)
            return len(self._list(conn, claimed, found, (task_id, key)))

    def item(self, claimed: Claimed, task_id: str, key: str, index: int) -> XComItem:
        """Return one item: of a dictionary, a key with its value in a tuple."""
        with reader(self.engine).connect() as conn:
            found = xcoms.source(conn, claimed.key, claimed.dag_run_id, task_id)
            items = self._list(conn, claimed, found, (task_id, key))
            if not 0 <= index < len(items):
                raise ConflictError(
                    f"There is no item {index} any more: task {task_id!r} has left {len(items)} "
                    f"under {key!r} by now. Clear the mapped task as a whole."
                )
            item: XComItem = items[index]
            if found.winner is not None:
                return item
            value = xcoms.pull(conn, claimed.dag_run_id, task_id, key, items[index])
            if value is None:
                raise ConflictError(
                    f"Instance {items[index]} of task {task_id!r} has left nothing under {key!r} "
                    "any more. Clear the mapped task when that one has run again."
                )
            return value[0]

    def _list(
        self, conn: Connection, claimed: Claimed, found: xcoms.XComSource, name: tuple[str, str]
    ) -> Sequence[Any]:
        task_id, key = name
        run, winner = claimed.dag_run_id, found.winner
        if winner is None:
            return self._kept.get(
                (run, task_id, key, claimed.task_id, found.rank),
                lambda: xcoms.pushed(conn, run, task_id, key),
            )
        return self._kept.get((winner, key), lambda: _read(conn, winner, task_id, key))


def _read(conn: Connection, winner: tuple[int, int], task_id: str, key: str) -> Sequence[XComItem]:
    left = xcoms.pull_from(conn, winner, key)
    items = None if left is None else items_of(left[0])
    if items is None:
        raise ConflictError(
            f"Task {task_id!r} has left no list or dictionary under {key!r} to expand a task over."
        )
    return items
