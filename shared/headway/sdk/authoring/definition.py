"""DAG: a workflow under construction, and the decorator that makes one from a function."""

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, Unpack, overload

from headway.domain.dag.names import check_key
from headway.domain.errors import DagError
from headway.sdk.authoring import callbacks, current
from headway.sdk.authoring.dag_attributes import DagAttributes
from headway.sdk.authoring.dag_time import DagTime
from headway.sdk.authoring.groups.task_group import RootGroup, TaskGroup
from headway.sdk.authoring.options import (
    DAG_OPTIONS,
    DATES,
    REFUSED,
    DagOptions,
    specify,
    within,
)
from headway.sdk.authoring.task_options import REFUSED as TASK_REFUSED
from headway.sdk.authoring.task_options import TASK_OPTIONS
from headway.sdk.running.dag_param import DagParam
from headway.sdk.values import checks, trials
from headway.sdk.values.names import doc_of, name_of
from headway.sdk.values.params import as_params, with_default

if TYPE_CHECKING:
    from headway.sdk.authoring.mapped import OperatorPartial
    from headway.sdk.authoring.operator import BaseOperator

P = ParamSpec("P")

_VARIABLE: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_OF_DAGS_ALONE: Final = DAG_OPTIONS - TASK_OPTIONS


class DAG(DagTime, DagAttributes):
    """A workflow.  Tasks made inside `with DAG(...)` belong to it."""

    def __init__(self, dag_id: str, **options: Unpack[DagOptions]) -> None:
        self.dag_id = check_key("DAG", dag_id)
        where = f"DAG {dag_id!r}"
        checks.known(options, DAG_OPTIONS, where, REFUSED)
        defaults = checks.mapping(options.get("default_args") or {}, f"{where}: default_args")
        options = within(options, defaults, where)
        defaults = {name: value for name, value in defaults.items() if name not in DATES}
        for name in _OF_DAGS_ALONE.intersection(defaults):
            raise DagError(f"{where}: default_args are for tasks; pass {name}= to the DAG itself.")
        self.default_args: Mapping[str, Any] = defaults
        self.options: DagOptions = options
        self.semantics_of_bundle = current.cron_semantics()
        self.spec = specify(dag_id, options, self.semantics_of_bundle)
        self.calls_on = callbacks.of_runs(options)
        self.task_dict: dict[str, BaseOperator] = {}
        self.task_group_dict: dict[str, TaskGroup] = {}
        self.task_group = RootGroup(self)
        self.edge_labels: dict[tuple[str, str], str] = {}
        self.partials: list[OperatorPartial] = []
        self.file = current.report(self)

    @property
    def tasks(self) -> "list[BaseOperator]":
        """The tasks in the order in which they were made."""
        return list(self.task_dict.values())

    def get_task(self, task_id: str) -> "BaseOperator":
        """Return the task of that id."""
        if task_id not in self.task_dict:
            known = ", ".join(self.task_dict) or "none"
            raise DagError(f"DAG {self.dag_id!r} has no task {task_id!r}; its tasks: {known}.")
        return self.task_dict[task_id]

    def add_task(self, task: "BaseOperator") -> None:
        """Take a task into the DAG, and into its group there; its id must be new."""
        if task.task_id in self.task_group_dict:
            self._refuse_both(task.task_id)
        if self.task_dict.setdefault(task.task_id, task) is not task:
            raise DagError(
                f"DAG {self.dag_id!r} has two tasks with the id {task.task_id!r}; rename one."
            )
        task.dag = self
        task.task_group = task.task_group or self.task_group
        task.task_group.children[task.task_id] = task
        current.tell_scopes(task)

    def check_default_args(self, accepted: Collection[str]) -> None:
        """Refuse default_args that no task takes; `accepted` are the names that one takes."""
        where = f"DAG {self.dag_id!r}: default_args"
        checks.known(self.default_args, accepted, where, TASK_REFUSED)

    def miss_template_file(self, what: str) -> None:
        """Refuse a task that names a template file which is not there; `what` says which."""
        raise DagError(what)

    def add_group(self, group: TaskGroup) -> None:
        """Take a group into the DAG, and into the group around it; its id must be new."""
        assert group.group_id is not None
        assert group.parent_group is not None
        if group.group_id in self.task_dict:
            self._refuse_both(group.group_id)
        if self.task_group_dict.setdefault(group.group_id, group) is not group:
            raise DagError(
                f"DAG {self.dag_id!r} has two task groups with the id {group.group_id!r}; rename "
                "one, or pass add_suffix_on_collision=True."
            )
        group.parent_group.children[group.group_id] = group

    def has_id(self, name: str) -> bool:
        """Tell whether a task or a group of the DAG has that id."""
        return name in self.task_dict or name in self.task_group_dict

    def _refuse_both(self, name: str) -> NoReturn:
        raise DagError(
            f"DAG {self.dag_id!r} has a task and a task group with the id {name!r}; rename one."
        )

    def descendants(self, task_id: str) -> set[str]:
        """Return the ids of all tasks that wait for this one, directly or not."""
        found: set[str] = set()
        ahead = [task_id]
        while ahead:
            new = self.task_dict[ahead.pop()].downstream_task_ids - found
            found |= new
            ahead.extend(new)
        return found

    def test(self, **options: Unpack[trials.TrialOptions]) -> Any:
        """Run the DAG once in this process, and return the run; DagError when the run fails.

        It is for the end of a DAG file: `if __name__ == "__main__": dag.test()`.
        """
        return trials.run_here(self, options)

    def __enter__(self) -> "DAG":
        current.enter(self.task_group)
        return self

    def __exit__(self, *_: object) -> None:
        current.leave()

    def __repr__(self) -> str:
        return f"<DAG: {self.dag_id}>"


@overload
def dag(dag_id: Callable[P, object], /) -> Callable[P, DAG]: ...


@overload
def dag(
    dag_id: str | None = None, **options: Unpack[DagOptions]
) -> Callable[[Callable[P, object]], Callable[P, DAG]]: ...


def dag(dag_id: Any = None, **options: Any) -> Any:
    """Turn a function into a maker of DAGs: each call makes one, with the tasks it calls.

    The function's name is the default id, its docstring the default doc_md.  What the function
    takes are params of the DAG: what a call gives, or else its default, is the default value.
    """
    if callable(dag_id):
        return dag()(dag_id)

    def decorate(function: Callable[P, object]) -> Callable[P, DAG]:
        return maker(DAG, function, dag_id, options)

    return decorate


def maker(
    kind: type[DAG], function: Callable[P, object], dag_id: str | None, options: Mapping[str, Any]
) -> Callable[P, DAG]:
    """Return a function whose calls make DAGs of that kind, with the tasks of `function`."""

    @wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> DAG:
        described: Any = {"doc_md": doc_of(function), **options}
        with kind(dag_id or name_of(function, "dag", "dag_id"), **described) as made:
            params = _params(made, function, args, kwargs)
            function(*params.args, **params.kwargs)
        return made

    return make


def _params(
    made: DAG, function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Make params of what the function of a DAG is called with; return them in their places."""
    taken = inspect.signature(function)
    bound = taken.bind(*args, **kwargs)
    bound.apply_defaults()
    named = {
        name: value
        for name, value in bound.arguments.items()
        if taken.parameters[name].kind not in _VARIABLE
    }
    if named:
        known = as_params(made.options.get("params"), f"DAG {made.dag_id!r}: params")
        own = {name: with_default(known.get(name), value) for name, value in named.items()}
        made.change("params", {**known, **own})
        bound.arguments.update({name: DagParam(made.dag_id, name) for name in named})
    return bound
