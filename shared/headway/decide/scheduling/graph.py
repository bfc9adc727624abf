"""A DAG with what the scheduler looks up in it again and again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from headway.domain.dag.spec import DagSpec, TaskSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.timetables import registry
from headway.timetables.base import Timetable


@dataclass(frozen=True)
class DagGraph:
    """The tasks of a DAG by name, and which wait for which."""

    dag: DagSpec

    @cached_property
    def timetable(self) -> Timetable:
        """When it runs; TimetableError if that cannot be known here."""
        return registry.decode(self.dag.timetable)

    @cached_property
    def tasks(self) -> Mapping[str, TaskSpec]:
        """The tasks by their id, in topological order."""
        return {task.task_id: task for task in self.dag.tasks}

    @cached_property
    def downstream(self) -> Mapping[str, list[str]]:
        """The tasks directly below each task."""
        below: dict[str, list[str]] = {task.task_id: [] for task in self.dag.tasks}
        for task in self.dag.tasks:
            for upstream in task.upstream:
                below[upstream].append(task.task_id)
        return below

    @cached_property
    def mapped_groups(self) -> Mapping[str, str]:
        """The mapped group of each task that is in one."""
        return {task.task_id: task.mapped_group for task in self.dag.tasks if task.mapped_group}

    def group_of(self, task_id: str) -> str | None:
        """Return the mapped group that a task is in; None when it is in none."""
        return self.mapped_groups.get(task_id)

    @cached_property
    def reach(self) -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
        """What the end of an instance of each task may decide about, in and outside of its group.

        These are all tasks below it in its mapped group, and those directly below one of these.
        """
        found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        for task in reversed(self.dag.tasks):
            below = self.downstream[task.task_id]
            inside = {name for name in below if self._are_mates(task.task_id, name)}
            outside = set(below) - inside
            for name in tuple(inside):
                inside |= found[name][0]
                outside |= found[name][1]
            found[task.task_id] = frozenset(inside), frozenset(outside)
        return found

    @cached_property
    def group_inputs(self) -> Mapping[str, frozenset[str]]:
        """The tasks in mapped groups that are expanded over what each task has left."""
        found: dict[str, set[str]] = {}
        for task_id in self.mapped_groups:
            for source, _ in self.tasks[task_id].map_sources():
                found.setdefault(source, set()).add(task_id)
        return {source: frozenset(tasks) for source, tasks in found.items()}

    def _are_mates(self, task_id: str, other: str) -> bool:
        group = self.group_of(task_id)
        return group is not None and group == self.group_of(other)

    @cached_property
    def pools(self) -> frozenset[str]:
        """The pools that its tasks need slots of."""
        return frozenset(task.pool for task in self.dag.tasks)

    @cached_property
    def setups(self) -> frozenset[str]:
        """The tasks that prepare what a teardown removes."""
        return frozenset(task.task_id for task in self.dag.tasks if task.is_setup)

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The tasks whose end decides the run's: those with nothing but teardowns below.

        Teardowns do not decide it, except those with on_failure_fail_dagrun.
        """
        working = [task for task in self.dag.tasks if not task.is_teardown]
        above = {upstream for task in working for upstream in task.upstream}
        last = frozenset(task.task_id for task in working) - above
        return last | {task.task_id for task in self.dag.tasks if task.on_failure_fail_dagrun}

    @cached_property
    def holds_back(self) -> bool:
        """Whether some task waits for the run before."""
        return any(task.depends_on_past for task in self.dag.tasks)

    @cached_property
    def dated(self) -> tuple[TaskSpec, ...]:
        """The tasks with dates of their own."""
        return tuple(task for task in self.dag.tasks if task.start_date or task.end_date)

    def left_out(self, date: datetime) -> frozenset[str]:
        """Return the tasks that a run of that logical date skips for their own dates."""
        return frozenset(task.task_id for task in self.dated if task.leaves_out(date))

    @cached_property
    def counts_suffice(self) -> bool:
        """Whether counts of upstream instances decide all tasks: no past, no setups, no teardowns.

        The runs of any other DAG are looked at as a whole each time.
        """
        return not (
            self.holds_back or self.setups or any(task.is_teardown for task in self.dag.tasks)
        )

    @cached_property
    def has_deadlines(self) -> bool:
        """Whether its runs, or tasks of these, have deadlines."""
        return self.dag.has_deadlines()

    def settle_at_start(self) -> bool:
        """Whether a run that starts is to be looked at as a whole.

        Otherwise the tasks for which `starts` holds are scheduled with it, and every
        other one waits for one of them.
        """
        return (
            not self.dag.tasks
            or not self.counts_suffice
            or bool(self.dated)
            or any(
                not starts(task) and (not task.upstream or task.trigger_rule is TriggerRule.ALWAYS)
                for task in self.dag.tasks
            )
        )


def starts(task: TaskSpec) -> bool:
    """Whether the task is ready when its run starts, with nothing to decide about it."""
    return not task.upstream and not task.depends_on_past and not task.mapped_over
