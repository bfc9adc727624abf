"""Show the graph of a run as it was: drawn, with how each task stands."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from headway.cli.screen.drawing import MOST_COLUMNS, MOST_TASKS, draw
from headway.cli.screen.output import COLOURS
from headway.domain.states import TaskState

if TYPE_CHECKING:
    from headway.actions.dags.history import RunGraph
    from headway.db.reads.task_views import TaskView

Line: TypeAlias = tuple[str, str]
"""A line, and the style that it has on a terminal."""

Instances: TypeAlias = "Mapping[str, Sequence[TaskView]]"
"""The task instances of a run by their task."""


def lines(found: "RunGraph", tasks: "Iterable[TaskView]") -> Iterator[Line]:
    """Yield the version of a run, its graph, and what of it is removed."""
    instances: dict[str, list[TaskView]] = {}
    for task in tasks:
        instances.setdefault(task.task_id, []).append(task)
    yield _version(found), "bold"
    yield from _drawing(found, instances)
    for task_id in sorted(instances.keys() - found.graph.tasks.keys()):
        told, style = _states(instances[task_id])
        yield f"not in version {found.number}: {task_id}  {told}", style


def _version(found: "RunGraph") -> str:
    said = f"version {found.number}"
    if found.in_force is not None and found.in_force != found.number:
        said += f", now {found.in_force} is in force"
    return said if found.pinned else f"{said}; it may start with a later one"


def _drawing(found: "RunGraph", instances: Instances) -> Iterator[Line]:
    rows = draw(found.graph.downstream)
    if rows is None:
        yield (
            (
                f"{len(found.graph.tasks)} tasks: too many, or too much beside each other, to be "
                f"drawn (up to {MOST_TASKS} tasks and {MOST_COLUMNS} columns are); listed below."
            ),
            "",
        )
        return
    for columns, task_id in rows:
        if task_id is None:
            yield columns, ""
        else:
            told, style = _states(instances.get(task_id, ()))
            yield f"{columns}  {task_id}  {told}", style


def _states(instances: "Sequence[TaskView]") -> Line:
    """Say how a task stands; one with several instances, how many of them stand how."""
    if not instances:
        return "-", ""
    states = Counter(str(task.state) for task in instances)
    worst = next((state for state in _WORST_FIRST if state in states), next(iter(states)))
    style = COLOURS.get(worst, "")
    if len(instances) > 1 or instances[0].map_index >= 0:
        counted = ", ".join(f"{number} {state}" for state, number in states.items())
        return f"{counted} (mapped)", style
    [it] = instances
    parts = [worst]
    if it.started_at and it.ended_at:
        parts.append(_seconds(it.ended_at - it.started_at))
    if it.attempt > 1:
        parts.append(f"attempt {it.attempt}")
    return ", ".join(parts), style


_WORST_FIRST = (
    TaskState.FAILED,
    TaskState.UPSTREAM_FAILED,
    TaskState.UP_FOR_RETRY,
    TaskState.RUNNING,
    TaskState.REMOVED,
)


def _seconds(took: timedelta) -> str:
    seconds = took.total_seconds()
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))  # noqa: PLR2004
