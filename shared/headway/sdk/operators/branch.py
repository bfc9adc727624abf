"""Branch and short circuit: functions that decide what comes next."""

from collections.abc import Iterable

from headway.sdk.authoring.python_operator import PythonOperator
from headway.sdk.exceptions import AirflowException


class BranchPythonOperator(PythonOperator):
    """Call a function that returns the id, or a list of ids, of the tasks to go on with.

    Other direct downstream tasks are skipped, except those that a chosen one leads to;
    None chooses no task.
    """

    operator_name = "branch"

    def skips(self, returned: object) -> tuple[str, ...]:
        """Return the direct downstream tasks that were not chosen."""
        kept: set[str] = set()
        for chosen in self._chosen(returned):
            if chosen not in self.downstream_task_ids:
                known = ", ".join(sorted(self.downstream_task_ids)) or "none"
                raise AirflowException(
                    f"The branch {self.task_id!r} chose {chosen!r}, which is no direct downstream "
                    f"task of it; these are: {known}."
                )
            assert self.dag is not None
            kept |= {str(chosen), *self.dag.descendants(str(chosen))}
        return tuple(sorted(self.downstream_task_ids - kept))

    def _chosen(self, returned: object) -> Iterable[object]:
        if returned is None:
            return ()
        if isinstance(returned, list | tuple | set):
            return returned
        return (returned,)


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
