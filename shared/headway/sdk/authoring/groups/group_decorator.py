"""`@task_group`: turns a function into a maker of groups of the tasks that it makes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from headway.domain.errors import DagError
from headway.sdk.authoring.blueprint import keywords_of
from headway.sdk.authoring.current import current_dag
from headway.sdk.authoring.expansion import Expansion, product, rows
from headway.sdk.authoring.groups.group_argument import GroupArgument
from headway.sdk.authoring.groups.group_options import GroupOptions
from headway.sdk.authoring.groups.mapped_group import MappedTaskGroup, refuse_mapping
from headway.sdk.authoring.groups.task_group import TaskGroup, group_for
from headway.sdk.authoring.python_operator import check_call
from headway.sdk.values import checks
from headway.sdk.values.checks import shown
from headway.sdk.values.names import call_of, doc_of, name_of
from headway.sdk.values.signatures import signature

P = ParamSpec("P")
R = TypeVar("R")


class DecoratedGroupOptions(GroupOptions, total=False):
    """What `@task_group` and its `override` take."""

    group_id: str


@dataclass(eq=False)
class GroupFactory(Generic[P, R]):
    """A decorated function: each call makes a group of the tasks that the function makes.

    `function` is the plain function, and `fixed` the arguments that `partial` has given it.  A
    second group of the same name is called `name__1`.
    """

    function: Callable[P, R]
    options: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DagError(f"@task_group decorates functions, not {shown(self.function)}.")
        own = dict(vars(self))
        update_wrapper(self, self.function)
        vars(self).update(own)  # an object that is called may have attributes of these names

    @property
    def group_id(self) -> str:
        """What a group is called that a call makes."""
        given = self.options.get("group_id")
        return str(given or name_of(self.function, "task_group", "group_id"))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Make a group; return what the function returns, or the group if that is nothing."""
        for name in kwargs:
            self._refuse_fixed(name, self._where)
        with TaskGroup(**self._group_options()) as group:
            returned = self.function(*args, **{**self.fixed, **kwargs})
        return group if returned is None else returned

    def override(self, **options: Unpack[DecoratedGroupOptions]) -> "GroupFactory[P, R]":
        """Return the same decorated function with other options."""
        return GroupFactory(self.function, {**self.options, **options}, self.fixed)

    def partial(self, **kwargs: Any) -> "GroupFactory[..., R]":
        """Fix some arguments of the function; `expand` then gives the others."""
        self._check(kwargs, f"{self._where}: partial()")
        return GroupFactory(self.function, self.options, {**self.fixed, **kwargs})

    def expand(self, **kwargs: Any) -> Any:
        """Make a mapped group: an instance of each of its tasks for each combination of items.

        The function gets what stands for the items; what it returns is returned, or the group.
        """
        self._refuse_nested()
        self._check(kwargs, f"{self._where}: expand()")
        expansion = product(kwargs, self._where)
        self._check_complete(kwargs)
        return self._mapped(expansion, list(kwargs))

    def expand_kwargs(self, kwargs: Any) -> Any:
        """Make a mapped group: an instance of each of its tasks for each dictionary in a list."""
        self._refuse_nested()
        taken = signature(self.function).parameters.values()
        if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in taken):
            raise DagError(
                f"{self._where}: expand_kwargs() needs to know the arguments of the function; "
                f"write them down in {call_of(self.function)}() instead of * or **."
            )
        expansion = rows(kwargs, self._where)
        for row in expansion.literals():
            self._check(row, f"{self._where}: expand_kwargs()")
            self._check_complete(row)
        return self._mapped(expansion, [it.name for it in taken if it.name not in self.fixed])

    @property
    def _where(self) -> str:
        dag = current_dag()
        group = f"ask group {self.group_id!r}"
        return f"DAG {dag.dag_id!r}, t{group}" if dag else f"T{group}"

    def _group_options(self) -> Any:
        told = doc_of(self.function)
        described = {"tooltip": told} if told else {}
        named = {"group_id": self.group_id, "add_suffix_on_collision": True}
        return {**described, **self.options, **named}

    def _mapped(self, expansion: Expansion, names: Sequence[str]) -> Any:
        taken, options = signature(self.function).parameters, self._group_options()
        with MappedTaskGroup(expansion=expansion, taken=taken, **options) as group:
            given: dict[str, Any] = {name: GroupArgument(group, name) for name in names}
            returned = cast(Callable[..., Any], self.function)(**self.fixed, **given)
        return group if returned is None else returned

    def _refuse_nested(self) -> None:
        refuse_mapping(group_for(self.options, "parent_group"), self._where)

    def _check(self, names: Iterable[str], where: str) -> None:
        """Refuse arguments that are fixed already, and those that the function does not take."""
        accepted = keywords_of(self.function)
        for name in names:
            self._refuse_fixed(name, where)
            if accepted is not None:
                checks.known([name], accepted, f"{where}: {call_of(self.function)}()")

    def _check_complete(self, names: Iterable[str]) -> None:
        check_call(self.function, (), {**self.fixed, **dict.fromkeys(names)}, lambda: self._where)

    def _refuse_fixed(self, name: str, where: str) -> None:
        if name in self.fixed:
            raise DagError(
                f"{where}: {name} is given to partial() already; leave it out of one of the two."
            )


@overload
def task_group(group_id: Callable[P, R], /) -> GroupFactory[P, R]: ...


@overload
def task_group(
    group_id: str | None = None, **options: Unpack[GroupOptions]
) -> Callable[[Callable[P, R]], GroupFactory[P, R]]: ...


def task_group(group_id: Any = None, **options: Any) -> Any:
    """Turn a function into a maker of groups: each call makes one, with the tasks it calls.

    The function's name is the default id, its docstring the default tooltip.
    """
    if callable(group_id):
        return GroupFactory(group_id, options)
    named = options if group_id is None else {**options, "group_id": group_id}
    return lambda function: GroupFactory(function, named)
