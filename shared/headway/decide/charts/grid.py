"""The cells of a grid, a byte each.

The lower four bits are the code of a state: 0 if the run has no instance of the task, else the
place of the state in `CODED`, the first being 1.  `RETRIED` is added if an instance has had more
than one attempt, and `MAPPED` if the task has several instances, whose most telling state it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import unpack
from typing import Final, NewType

from headway.domain.states import TaskState

CODED: Final = (
    TaskState.REMOVED,
    TaskState.SKIPPED,
    TaskState.SUCCESS,
    TaskState.NONE,
    TaskState.SCHEDULED,
    TaskState.QUEUED,
    TaskState.DEFERRED,
    TaskState.UP_FOR_RETRY,
    TaskState.RUNNING,
    TaskState.RESTARTING,
    TaskState.UPSTREAM_FAILED,
    TaskState.FAILED,
)
"""The states by their codes: of several instances the last one of these is shown."""

RETRIED: Final = 16
MAPPED: Final = 32

PackedCells = NewType("PackedCells", bytes)
"""Numbers of four bytes, the highest byte first: the row times 256, plus the cell's byte."""

_STATE: Final = 15
_STATES: Final = bytes(byte & _STATE for byte in range(256))
_RETRIES: Final = bytes(byte & RETRIED for byte in range(256))
_CODES: Final = {state: nth for nth, state in enumerate(CODED, start=1)}
_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class MappedCell:
    """How many instances of a mapped task are in each state, and whether one was tried again."""

    states: Mapping[TaskState, int]
    retried: bool


def column(
    tasks: Sequence[str], packed: PackedCells | None, mapped: Mapping[str, MappedCell]
) -> bytes:
    """Return the cells of one run, in the order of the tasks."""
    cells = bytearray(len(tasks))
    given = packed or b""
    for number in unpack(f">{len(given) // _BYTES}I", given):
        cells[number >> 8] = number & 255
    if mapped:
        places = {task_id: place for place, task_id in enumerate(tasks)}
        for task_id, cell in mapped.items():
            if task_id in places:
                cells[places[task_id]] = _byte(cell)
    return bytes(cells)


def together(rows: Sequence[bytes]) -> bytes:
    """Return the cells of several tasks as one row: of each run the most telling state."""
    states = zip(*(row.translate(_STATES) for row in rows), strict=True)
    retries = zip(*(row.translate(_RETRIES) for row in rows), strict=True)
    return bytes(max(its) + max(tried) for its, tried in zip(states, retries, strict=True))


def _byte(cell: MappedCell) -> int:
    return max(_CODES[state] for state in cell.states) + MAPPED + RETRIED * cell.retried
