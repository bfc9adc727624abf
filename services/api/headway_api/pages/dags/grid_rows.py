"""The rows of a grid: a task each, or a group that stands for all the tasks in it."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from headway.actions.dags.outlines import DagOutline
from headway.decide.charts.grid import together
from headway.decide.charts.outline import outlined
from headway_api.native.dags.grid import LENGTH_BYTES, GridHeader, GridTask
from headway_api.pages.frame.outline_rows import ShownRow, shown


@dataclass(frozen=True, slots=True)
class GridSheet:
    """The rows of a grid, and its cells as the API has them.

    `tasks` has those that each row stands for; there are `total` of them, and `places` says where
    they are in the API's grid.  An `outlined` sheet has groups, or `names` for people.
    """

    header: GridHeader
    cells: bytes
    rows: Sequence[ShownRow]
    tasks: Sequence[Sequence[str]]
    total: int
    places: Mapping[str, int]
    outlined: bool
    names: Mapping[str, str]

    def row(self, nth: int) -> bytes:
        """Return the cells of a row, those of the newest run first."""
        count = len(self.header.rows)
        found = [self.cells[self.places[task] :: count] for task in self.tasks[nth]]
        return found[0] if len(found) == 1 else together(found)

    def packed(self) -> bytes:
        """Return rows and cells in the form of the API's grid, with what a script needs."""
        default = ShownRow("")._asdict()
        header = {
            "rows": [
                {name: value for name, value in row._asdict().items() if value != default[name]}
                for row in self.rows
            ],
            "columns": [{"run_id": column.run_id} for column in self.header.columns],
            "states": self.header.states,
            "retried": self.header.retried,
        }
        text = json.dumps(header).encode()
        rows = [self.row(nth) for nth in range(len(self.rows))]
        cells = b"".join(map(bytes, zip(*rows, strict=True)))
        return len(text).to_bytes(LENGTH_BYTES, "big") + text + cells


def grid_sheet(
    header: GridHeader,
    cells: bytes,
    part: str = "",
    outline: DagOutline | None = None,
    folded: Set[str] = frozenset(),
) -> GridSheet:
    """Return the rows of those tasks that have that part in their names, and of their groups."""
    part = part.lower()
    names = {} if outline is None else outline.names
    wanted = [
        row
        for row in header.rows
        if not part or part in row.task_id.lower() or part in names.get(row.task_id, "").lower()
    ]
    places = {row.task_id: nth for nth, row in enumerate(header.rows)}
    if outline is not None:
        rows, tasks = _outlined(wanted, outline, folded)
        return GridSheet(
            header, cells, rows, tasks, len(wanted), places, outlined=True, names=names
        )
    plain = [ShownRow(task.task_id, task.mapped) for task in wanted]
    alone = [(task.task_id,) for task in wanted]
    return GridSheet(header, cells, plain, alone, len(wanted), places, outlined=False, names=names)


def _outlined(
    wanted: Sequence[GridTask], outline: DagOutline, folded: Set[str]
) -> tuple[list[ShownRow], list[Sequence[str]]]:
    mapped = {task.task_id for task in wanted if task.mapped}
    found = outlined([task.task_id for task in wanted], outline.groups, folded)
    rows = [shown(row, outline, mapped=row.name in mapped) for row in found]
    return rows, [row.tasks or (row.name,) for row in found]
