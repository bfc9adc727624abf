"""Tasks and groups as rows of a grid or a chart show them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headway.actions.dags.outlines import DagOutline
from headway.decide.charts.grid import CODED
from headway.decide.charts.outline import OutlineRow
from headway.domain.states import TaskState


class ShownRow(NamedTuple):
    """A task, or a group of `size` tasks.

    `name` is what it is called if not by its id, `told` what there is to say of a group.  `depth`
    counts the groups around it.
    """

    task_id: str
    mapped: bool = False
    name: str = ""
    depth: int = 0
    size: int = 0
    folded: bool = False
    told: str = ""


def shown(row: OutlineRow, outline: DagOutline, *, mapped: bool = False) -> ShownRow:
    """Return a row of an outline with what it is called."""
    told = outline.tooltips.get(row.name, "") if row.tasks else ""
    name = outline.called(row)
    return ShownRow(row.name, mapped, name, row.depth, len(row.tasks), row.folded, told)


def together(counts: Iterable[Mapping[TaskState, int]]) -> dict[TaskState, int]:
    """Count the instances of several tasks by state; what needs a look first comes first."""
    found: Counter[TaskState] = Counter()
    for each in counts:
        found.update(each)
    return dict(sorted(found.items(), key=lambda it: -CODED.index(it[0])))
