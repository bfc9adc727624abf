"""Columns of grids that stay as they are, remembered: a run that has ended is read once."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from threading import Lock
from typing import Final, TypeAlias

from headway.db.reads.pages.run_pages import ListedRun
from headway.decide.charts.grid import CODED, MappedCell
from headway.domain.states import TERMINAL

MOST_BYTES: Final = 8 * 2**20
"""Bytes that a process remembers, about."""

_OF_COLUMN, _OF_MAPPED = 600, 200
"""Bytes that a column, and a mapped task in it, take besides the cells."""

_STATE: Final = 15
_FINAL: Final = frozenset({0, *(nth for nth, it in enumerate(CODED, start=1) if it in TERMINAL)})

ColumnKey: TypeAlias = tuple[int, datetime, str, datetime, int, bytes]
"""A run as it ended: whoever changes a task of it has it run again, or calls its end otherwise."""


@dataclass(frozen=True, slots=True)
class RunColumn:
    """The cells of a run, and how the instances of its mapped tasks stand."""

    cells: bytes
    mapped: Mapping[str, MappedCell]

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return _OF_COLUMN + len(self.cells) + _OF_MAPPED * len(self.mapped)

    @property
    def is_final(self) -> bool:
        """Whether every task has ended."""
        states = {byte & _STATE for byte in set(self.cells)}
        return states <= _FINAL


class EndedColumns:
    """The columns that were asked for last."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._columns: OrderedDict[ColumnKey, RunColumn] = OrderedDict()
        self._lock = Lock()

    def known(self, keys: Mapping[int, ColumnKey]) -> dict[int, RunColumn]:
        """Return what is remembered, by run."""
        found: dict[int, RunColumn] = {}
        with self._lock:
            for run, key in keys.items():
                if key in self._columns:
                    self._columns.move_to_end(key)
                    found[run] = self._columns[key]
        return found

    def remember(self, keys: Mapping[int, ColumnKey], columns: Mapping[int, RunColumn]) -> None:
        """Remember columns that are final, and forget those that nobody has asked for longest."""
        with self._lock:
            for run, column in columns.items():
                if run in keys and keys[run] not in self._columns and column.is_final:
                    self._columns[keys[run]] = column
                    self._bytes += column.size
            while self._bytes > self._most:
                _, gone = self._columns.popitem(last=False)
                self._bytes -= gone.size


def keys_of(runs: Sequence[ListedRun], task_ids: Sequence[str]) -> dict[int, ColumnKey]:
    """Return the keys of the columns of those runs that have ended, for rows of these tasks."""
    rows = blake2b("\n".join(task_ids).encode(), digest_size=16).digest()
    return {
        it.id: (it.id, it.created_at, str(it.run.state), it.run.ended_at, it.version_id, rows)
        for it in runs
        if it.run.ended_at is not None
    }
