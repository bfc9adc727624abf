"""The panel beside a grid: the task in the run that is chosen, or a rectangle of such cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headway.domain.errors import TaskNotFoundError
from headway_api.auth.caller import Caller
from headway_api.pages.frame import addresses
from headway_api.pages.runs.task import TaskInRun, task_in_run

_LONGEST: Final = 32_000
"""Characters of an address that every server and browser here takes."""


@dataclass(frozen=True, slots=True)
class ChosenCell:
    """A task in a run."""

    run: str
    task: str


@dataclass(frozen=True, slots=True)
class GridPanel:
    """What is chosen in a grid: a cell, or all from it to another one.

    `found` is None for several cells, and where the run has no instance of the task.  `closed` is
    the address of the grid without the panel.
    """

    dag_id: str
    chosen: ChosenCell
    run_ids: Sequence[str]
    task_ids: Sequence[str]
    found: TaskInRun | None
    closed: str

    @property
    def runs(self) -> int:
        """How many columns are chosen."""
        return len(self.run_ids)

    @property
    def tasks(self) -> int:
        """How many rows are chosen."""
        return len(self.task_ids)

    @property
    def is_too_large(self) -> bool:
        """Whether an address cannot name all runs and tasks that are chosen."""
        return len(self.change("mark-success")) > _LONGEST

    def change(self, kind: str) -> str:
        """Return the page of a change to all cells that are chosen."""
        return addresses.cells_change(self.dag_id, kind, self.run_ids, self.task_ids)


def grid_panel(
    caller: Caller,
    dag_id: str,
    corners: tuple[ChosenCell, ChosenCell],
    runs: Sequence[str],
    tasks: Sequence[str],
    closed: str,
) -> GridPanel | None:
    """Return what the panel shows of these runs and tasks; None if the grid has no such cell."""
    first, last = corners
    run_ids = _between(runs, first.run, last.run)
    task_ids = _between(tasks, first.task, last.task)
    if not run_ids or not task_ids:
        return None
    found = None
    if len(run_ids) == len(task_ids) == 1:
        try:
            found = task_in_run(caller, dag_id, first.run, first.task)
        except TaskNotFoundError:
            found = None
    return GridPanel(dag_id, first, run_ids, task_ids, found, closed)


def _between(names: Sequence[str], one: str, other: str) -> Sequence[str]:
    if one not in names or other not in names:
        return []
    first, last = sorted((names.index(one), names.index(other)))
    return names[first : last + 1]
