"""Branch and short circuit: tasks that decide what comes next."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.python_operator import PythonOperator
from headway.sdk.exceptions import AirflowException
from headway.sdk.running.context import Context
from headway.sdk.values import checks

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.dependencies import Dependent
    from headway.sdk.context.task_instance import TaskInstance


class SkipMixin:
    """What an operator has beside BaseOperator that may skip tasks below it.

    Call `skip` or `skip_all_except` in `execute`: the tasks are skipped if this one succeeds.
    """

    dag: "DAG | None"
    task_id: str
    downstream_task_ids: set[str]
    skipped_task_ids: frozenset[str]

    def skip(self, ti: "TaskInstance", tasks: "Iterable[Dependent]") -> None:  # noqa: ARG002
        """Skip these tasks, which lie somewhere below this one."""
        below = self.dag.descendants(self.task_id) if self.dag else set()
        names = {task.as_operator().task_id for task in tasks}
        if strange := sorted(names - below):
            raise AirflowException(
                f"The task {self.task_id!r} is to skip {strange[0]!r}, which does not lie below "
                "it; a task can only skip those that wait for it."
            )
        self.skipped_task_ids |= names

    def skip_all_except(
        self,
        ti: "TaskInstance",  # noqa: ARG002
        branch_task_ids: str | Iterable[str] | None,
    ) -> None:
        """Skip the direct downstream tasks that are not named, nor lie below a named one.

        The id of a group stands for the tasks at its beginning.
        """
        kept: set[str] = set()
        assert self.dag is not None
        for chosen in self._tasks_of(branch_task_ids):
            if chosen not in self.downstream_task_ids:
                known = ", ".join(sorted(self.downstream_task_ids)) or "none"
                raise AirflowException(
                    f"The branch {self.task_id!r} chose {chosen!r}, which is no direct downstream "
                    f"task of it; these are: {known}."
                )
            kept |= {str(chosen), *self.dag.descendants(str(chosen))}
        self.skipped_task_ids |= self.downstream_task_ids - kept

    def _tasks_of(self, chosen: object) -> Iterator[object]:
        groups = self.dag.task_group_dict if self.dag else {}
        for name in _names(chosen):
            if isinstance(name, str) and name in groups:
                yield from (task.task_id for task in groups[name].roots)
            else:
                yield name


class BaseBranchOperator(BaseOperator, SkipMixin):
    """The base of your own branches: override `choose_branch`.

    Direct downstream tasks that are not chosen are skipped, except those that a chosen one
    leads to.
    """

    def choose_branch(self, context: Context) -> str | Iterable[str] | None:
        """Return the id, or several ids, of the tasks to go on with; None chooses no task."""
        raise NotImplementedError(
            f"{type(self).__name__} must define choose_branch(self, context)."
        )

    def execute(self, context: Context) -> Any:
        """Choose, and skip the others."""
        return self.do_branch(context, self.choose_branch(context))

    def do_branch(self, context: Context, branches_to_execute: Any) -> Any:
        """Skip what is not among these, and return them."""
        if isinstance(branches_to_execute, Iterator):
            branches_to_execute = list(branches_to_execute)
        self.skip_all_except(context["ti"], branches_to_execute)
        return branches_to_execute


class BranchPythonOperator(BaseBranchOperator, PythonOperator):
    """Call a function that returns the id, or a list of ids, of the tasks to go on with.

    Other direct downstream tasks are skipped, except those that a chosen one leads to;
    None chooses no task.
    """

    operator_name = "branch"

    def choose_branch(self, context: Context) -> Any:
        """Call the function."""
        return PythonOperator.execute(self, context)


class ShortCircuitOperator(PythonOperator, SkipMixin):
    """Call a function; when its result is falsy, skip all tasks below, however far.

    Without `ignore_downstream_trigger_rules` only the direct downstream tasks are skipped, and
    those further down follow by their trigger rules.  Teardowns are never skipped.
    """

    operator_name = "short_circuit"

    def __init__(
        self,
        *,
        task_id: str,
        ignore_downstream_trigger_rules: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(task_id=task_id, **options)
        where = f"{self.where}: ignore_downstream_trigger_rules"
        self.ignore_downstream_trigger_rules = checks.flag(ignore_downstream_trigger_rules, where)

    def execute(self, context: Context) -> Any:
        """Call the function, and skip what lies below if it says so."""
        returned = PythonOperator.execute(self, context)
        if not returned and self.dag is not None:
            tasks = self.dag.task_dict
            all_below = self.ignore_downstream_trigger_rules
            below = self.dag.descendants(self.task_id) if all_below else self.downstream_task_ids
            self.skip(context["ti"], [tasks[name] for name in below if not tasks[name].is_teardown])
        return returned


def _names(chosen: object) -> Iterable[object]:
    if chosen is None:
        return ()
    if isinstance(chosen, list | tuple | set):
        return chosen
    return (chosen,)
