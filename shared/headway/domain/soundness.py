"""Whether a DagSpec makes sense: what its types alone do not say.

Authors are told of their mistakes by `headway.sdk`, name by name.  This is for a
specification that comes from where nobody has checked anything.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Final

from headway.domain.errors import DagError
from headway.domain.names import check_key
from headway.domain.spec import DagSpec, TaskSpec

LARGEST_NUMBER: Final = 2**31 - 1
"""What a whole number in the database may be."""


def check_sound(dag: DagSpec) -> None:
    """Raise DagError unless every promise of the specification holds."""
    check_key("DAG", dag.dag_id)
    if min(dag.max_active_runs, dag.max_active_tasks) < 1:
        raise DagError(f"DAG {dag.dag_id} could never run anything: its limits are below 1.")
    if max(dag.max_active_runs, dag.max_active_tasks) > LARGEST_NUMBER:
        raise DagError(f"A limit of DAG {dag.dag_id} is above {LARGEST_NUMBER:,}.")
    if "\0" in "".join((dag.description or "", *dag.tags)):
        raise DagError(f"The description or a tag of DAG {dag.dag_id} has a NUL character.")
    seen: set[str] = set()
    for task in dag.tasks:
        for problem in _problems(task, seen):
            raise DagError(f"Task {task.task_id!r} of DAG {dag.dag_id} {problem}.")
        seen.add(check_key("task", task.task_id))


def _problems(task: TaskSpec, above: set[str]) -> Iterator[str]:
    """Tell what is wrong with a task, given those that come before it in topological order."""
    if task.task_id in above:
        yield "is there twice"
    if not above.issuperset(task.upstream):
        yield "depends on tasks that do not come before it"
    if len(set(task.upstream)) < len(task.upstream):
        yield "depends on a task twice"
    yield from _problems_of_values(task)


def _problems_of_values(task: TaskSpec) -> Iterator[str]:
    if max(task.retries, task.pool_slots, abs(task.priority_weight)) > LARGEST_NUMBER:
        yield f"has a number above {LARGEST_NUMBER:,}"
    if "\0" in f"{task.operator}{task.pool}{task.queue}":
        yield "has a NUL character in a name"
    if task.retries < 0 or task.pool_slots < 1:
        yield "has a negative number of retries, or no pool slot"
    for seconds in (task.retry_delay, task.max_retry_delay, task.execution_timeout):
        if seconds is not None and not (isfinite(seconds) and seconds >= 0):
            yield f"has a duration of {seconds} seconds"
