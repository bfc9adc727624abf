"""Whether a DagSpec makes sense: what its types alone do not say.

Authors are told of their mistakes by `headway.sdk`, name by name.  This is for a
specification that comes from where nobody has checked anything.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Final

from headway.domain.dag.mapped_groups import problems_of_mapped_groups
from headway.domain.dag.mapping import DEEPEST_COMBINED, MAX_MAP_LENGTH
from headway.domain.dag.names import check_key
from headway.domain.dag.spec import (
    LONGEST_INTERVAL,
    SHORTEST_INTERVAL,
    Combined,
    DagSpec,
    MapInput,
    TaskSpec,
)
from headway.domain.dag.task_groups import problems_of_groups
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.errors import DagError

LARGEST_NUMBER: Final = 2**31 - 1
"""What a whole number in the database may be."""


def check_valid(dag: DagSpec) -> None:
    """Raise DagError unless every promise of the specification holds."""
    check_key("DAG", dag.dag_id)
    _check_limits(dag)
    if "\0" in "".join((dag.description or "", *dag.tags)):
        raise DagError(f"The description or a tag of DAG {dag.dag_id} has a NUL character.")
    seen: set[str] = set()
    for task in dag.tasks:
        for problem in _problems(task, seen):
            raise DagError(f"Task {task.task_id!r} of DAG {dag.dag_id} {problem}.")
        seen.add(check_key("task", task.task_id))
    for problem in problems_of_groups(dag.groups, seen):
        raise DagError(f"A task group of DAG {dag.dag_id} {problem}.")
    for problem in problems_of_mapped_groups(dag):
        raise DagError(f"A mapped group of DAG {dag.dag_id} {problem}.")
    edges = {(above, task.task_id) for task in dag.tasks for above in task.upstream}
    if not edges.issuperset((each.upstream, each.downstream) for each in dag.labels):
        raise DagError(f"DAG {dag.dag_id} has a label on an edge that is not there.")


def _check_limits(dag: DagSpec) -> None:
    per_run = dag.max_active_tasks_per_dagrun
    limits = (dag.max_active_runs, dag.max_active_tasks, 1 if per_run is None else per_run)
    if min(limits) < 1:
        raise DagError(f"DAG {dag.dag_id} could never run anything: its limits are below 1.")
    if max(limits) > LARGEST_NUMBER:
        raise DagError(f"A limit of DAG {dag.dag_id} is above {LARGEST_NUMBER:,}.")
    seconds = dag.dagrun_timeout
    if seconds is not None and not (isfinite(seconds) and seconds > 0):
        raise DagError(f"The dagrun_timeout of DAG {dag.dag_id} is {seconds} seconds.")
    every = dag.min_file_process_interval
    if every is not None and not SHORTEST_INTERVAL <= every <= LONGEST_INTERVAL:
        raise DagError(f"The min_file_process_interval of DAG {dag.dag_id} is {every} seconds.")


def _problems(task: TaskSpec, above: set[str]) -> Iterator[str]:
    """Tell what is wrong with a task, given those that come before it in topological order."""
    if task.task_id in above:
        yield "is there twice"
    if not above.issuperset(task.upstream):
        yield "depends on tasks that do not come before it"
    if len(set(task.upstream)) < len(task.upstream):
        yield "depends on a task twice"
    yield from _problems_of_values(task)
    yield from _problems_of_mapping(task, above)


def _problems_of_values(task: TaskSpec) -> Iterator[str]:
    if max(task.retries, task.pool_slots, abs(task.priority_weight)) > LARGEST_NUMBER:
        yield f"has a number above {LARGEST_NUMBER:,}"
    if "\0" in f"{task.operator}{task.pool}{task.queue}":
        yield "has a NUL character in a name"
    if task.retries < 0 or task.pool_slots < 1:
        yield "has a negative number of retries, or no pool slot"
    if task.priority_weight < 0:
        yield f"has a priority_weight of {task.priority_weight}"
    yield from _problems_of_limits(task)


def _problems_of_limits(task: TaskSpec) -> Iterator[str]:
    for seconds in (task.retry_delay, task.max_retry_delay, task.execution_timeout):
        if seconds is not None and not (isfinite(seconds) and seconds >= 0):
            yield f"has a duration of {seconds} seconds"
    for limit in (task.max_active_tis_per_dag, task.max_active_tis_per_dagrun):
        if limit is not None and not 1 <= limit <= LARGEST_NUMBER:
            yield f"has a limit of {limit} active instances"


def _problems_of_mapping(task: TaskSpec, above: set[str]) -> Iterator[str]:
    if not task.mapped_over and task.mapped_group is None:
        return
    if len({source.argument for source in task.mapped_over}) < len(task.mapped_over):
        yield "is expanded over an argument twice"
    for source in task.mapped_over:
        yield from _problems_of_input(source, task)
    if task.mapped_group is not None and not above.issuperset(
        name for name, _ in task.map_sources()
    ):
        yield "is in a mapped group that is expanded over a task that does not come before it"


def _problems_of_input(source: MapInput, task: TaskSpec, depth: int = 0) -> Iterator[str]:
    if "\0" in f"{source.argument}{source.key}":
        yield "is expanded over something with a NUL character in its name"
    if source.combined is not None or source.parts:
        yield from _problems_of_parts(source, task, depth)
    elif source.task_id is None:
        if source.length is None or not 0 <= source.length <= MAX_MAP_LENGTH:
            yield f"is expanded over {source.length} literal items"
    elif source.length is not None or not _waits_for(task, source.task_id):
        yield f"is expanded over task {source.task_id!r}, for which it does not wait"
    elif task.trigger_rule is TriggerRule.ALWAYS and task.mapped_group is None:
        yield "is expanded over another task, for which trigger_rule 'always' does not wait"


def _waits_for(task: TaskSpec, source: str) -> bool:
    """Whether a task waits for what it is expanded over; of a mapped group the first tasks do."""
    return source in task.upstream or task.mapped_group is not None


def _problems_of_parts(source: MapInput, task: TaskSpec, depth: int) -> Iterator[str]:
    if source.combined is None or (source.length, source.task_id) != (None, None):
        yield "is expanded over parts that are not combined alone"
    elif not source.parts or (source.combined is Combined.MAP and len(source.parts) > 1):
        yield f"is expanded over {len(source.parts)} parts, combined by {source.combined}"
    elif depth >= DEEPEST_COMBINED:
        yield f"is expanded over what is combined at more than {DEEPEST_COMBINED} levels"
    else:
        for part in source.parts:
            yield from _problems_of_input(part, task, depth + 1)
