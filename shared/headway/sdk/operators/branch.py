"""Branch and short circuit: functions that decide what comes next."""

from collections.abc import Iterator, Mapping

from headway.sdk.authoring.groups.task_group import TaskGroup
from headway.sdk.authoring.python_operator import PythonOperator
from headway.sdk.exceptions import AirflowException


class BranchPythonOperator(PythonOperator):
    """Call a function that returns the id, or a list of ids, of the tasks to go on with.

    The id of a group stands for the tasks at its beginning.  Other direct downstream tasks are
    skipped, except those that a chosen one leads to; None chooses no task.
    """

    operator_name = "branch"

    def skips(self, returned: object) -> tuple[str, ...]:
        """Return the direct downstream tasks that were not chosen."""
        kept: set[str] = set()
        assert self.dag is not None
        for chosen in self._chosen(returned, self.dag.task_group_dict):
            if chosen not in self.downstream_task_ids:
                known = ", ".join(sorted(self.downstream_task_ids)) or "none"
                raise AirflowException(
                    f"The branch {self.task_id!r} chose {chosen!r}, which is no direct downstream "
                    f"task of it; these are: {known}."
                )
            kept |= {str(chosen), *self.dag.descendants(str(chosen))}
        return tuple(sorted(self.downstream_task_ids - kept))

    def _chosen(self, returned: object, groups: Mapping[str, TaskGroup]) -> Iterator[object]:
        if returned is None:
            return
        for chosen in returned if isinstance(returned, list | tuple | set) else (returned,):
            if isinstance(chosen, str) and chosen in groups:
                yield from (task.task_id for task in groups[chosen].roots)
            else:
                yield chosen


class ShortCircuitOperator(PythonOperator):
    """Call a function; when its result is falsy, skip all direct downstream tasks.

    Tasks further down follow by their trigger rules.  Teardowns are never skipped.
    """

    operator_name = "short_circuit"

    def skips(self, returned: object) -> tuple[str, ...]:
        """Return all direct downstream tasks that are no teardowns, or none."""
        if returned or self.dag is None:
            return ()
        tasks = self.dag.task_dict
        return tuple(
            sorted(name for name in self.downstream_task_ids if not tasks[name].spec.is_teardown)
        )
