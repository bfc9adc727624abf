"""The panel beside a grid: the task in the run that is chosen, or a rectangle of such cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headway.db.reads.charts import run_times
from headway.decide.charts.grid import CODED
from headway.domain.errors import TaskNotFoundError
from headway.domain.states import TaskState
from headway_api.auth.caller import Caller
from headway_api.pages.dags.grid_rows import GridSheet
from headway_api.pages.frame import addresses
from headway_api.pages.frame.outline_rows import ShownRow, together
from headway_api.pages.runs.task import TaskInRun, task_in_run

_LONGEST: Final = 32_000
"""Characters of an address that every server and browser here takes."""


@dataclass(frozen=True, slots=True)
class ChosenCell:
    """A task or a group in a run."""

    run: str
    task: str


@dataclass(frozen=True, slots=True)
class GroupInRun:
    """A group of tasks in a run: how many instances are in each state, and what each task's say.

    What needs a look first comes first.
    """

    row: ShownRow
    counts: Mapping[TaskState, int]
    tasks: Sequence[tuple[str, TaskState]]


@dataclass(frozen=True, slots=True)
class GridPanel:
    """What is chosen in a grid: a cell, or all from it to another one.

    `names` are those of the rows that are chosen, `task_ids` the tasks that these stand for.
    `found` is None for several cells, and where the run has no instance of the task; `group` is
    what is chosen if that is one cell of a group.  `called` are the names of tasks for
    people.  `closed` is the address of the grid without the panel.
    """

    dag_id: str
    chosen: ChosenCell
    run_ids: Sequence[str]
    names: Sequence[str]
    task_ids: Sequence[str]
    found: TaskInRun | None
    group: GroupInRun | None
    called: Mapping[str, str]
    closed: str

    @property
    def runs(self) -> int:
        """How many columns are chosen."""
        return len(self.run_ids)

    @property
    def tasks(self) -> int:
        """How many tasks are chosen."""
        return len(self.task_ids)

    @property
    def task(self) -> str:
        """The task that was chosen first; where that is a group, one of it."""
        return self.chosen.task if self.chosen.task in self.task_ids else self.task_ids[0]

    @property
    def is_too_large(self) -> bool:
        """Whether an address cannot name all runs and tasks that are chosen."""
        return len(self.change("mark-success")) > _LONGEST

    def change(self, kind: str) -> str:
        """Return the page of a change to all cells that are chosen."""
        return addresses.cells_change(self.dag_id, kind, self.run_ids, self.task_ids)


def grid_panel(
    caller: Caller,
    corners: tuple[ChosenCell, ChosenCell],
    runs: Sequence[str],
    sheet: GridSheet,
    closed: str,
) -> GridPanel | None:
    """Return what the panel shows of these runs and rows; None if the grid has no such cell."""
    (first, last), dag_id = corners, sheet.header.dag_id
    names = [row.task_id for row in sheet.rows]
    run_ids = _between(runs, first.run, last.run)
    chosen = _between(names, first.task, last.task)
    if not run_ids or not chosen:
        return None
    tasks = _tasks(sheet, chosen)
    found, group = None, None
    if len(run_ids) == len(chosen) == 1 and sheet.rows[chosen[0]].size:
        group = _group(caller, sheet, first.run, chosen[0])
    elif len(run_ids) == len(tasks) == 1:
        found = _found(caller, dag_id, ChosenCell(first.run, tasks[0]))
    return GridPanel(
        dag_id=dag_id,
        chosen=first,
        run_ids=[runs[nth] for nth in run_ids],
        names=[names[nth] for nth in chosen],
        task_ids=tasks,
        found=found,
        group=group,
        called=sheet.names,
        closed=closed,
    )


def _between(names: Sequence[str], one: str, other: str) -> range:
    if one not in names or other not in names:
        return range(0)
    first, last = sorted((names.index(one), names.index(other)))
    return range(first, last + 1)


def _tasks(sheet: GridSheet, chosen: range) -> list[str]:
    """Return the tasks of rows; of an open group those that are chosen, or else all."""
    found: dict[str, None] = {}
    for nth in chosen:
        has_more = nth + 1 in chosen and sheet.rows[nth + 1].depth > sheet.rows[nth].depth
        if not has_more:
            found |= dict.fromkeys(sheet.tasks[nth])
    return list(found)


def _found(caller: Caller, dag_id: str, cell: ChosenCell) -> TaskInRun | None:
    try:
        return task_in_run(caller, dag_id, cell.run, cell.task)
    except TaskNotFoundError:
        return None


def _group(caller: Caller, sheet: GridSheet, run: str, nth: int) -> GroupInRun:
    dag_id = sheet.header.dag_id
    states = caller.read(lambda conn: run_times.state_counts(conn, dag_id, run))
    its = {task: states[task] for task in sheet.tasks[nth] if task in states}
    telling = {task: max(map(CODED.index, each)) for task, each in its.items()}
    return GroupInRun(
        sheet.rows[nth],
        together(its.values()),
        [(task, CODED[at]) for task, at in sorted(telling.items(), key=lambda it: -it[1])],
    )
