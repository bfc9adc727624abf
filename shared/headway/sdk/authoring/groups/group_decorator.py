"""`@task_group`: turns a function into a maker of groups of the tasks that it makes."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, Unpack, overload

from headway.domain.errors import DagError
from headway.sdk.authoring.groups.group_options import GroupOptions
from headway.sdk.authoring.groups.task_group import TaskGroup
from headway.sdk.values.checks import shown

P = ParamSpec("P")
R = TypeVar("R")


class DecoratedGroupOptions(GroupOptions, total=False):
    """What `@task_group` and its `override` take."""

    group_id: str


@dataclass(eq=False)
class GroupFactory(Generic[P, R]):
    """A decorated function: each call makes a group of the tasks that the function makes.

    `function` is the plain function.  A second group of the same name is called `name__1`.
    """

    function: Callable[P, R]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DagError(f"@task_group decorates functions, not {shown(self.function)}.")
        update_wrapper(self, self.function)

    @property
    def group_id(self) -> str:
        """What a group is called that a call makes."""
        return str(self.options.get("group_id") or self.function.__name__)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Make a group; return what the function returns, or the group if that is nothing."""
        told = inspect.getdoc(self.function)
        described = {"tooltip": told} if told else {}
        options: Any = {**described, **self.options, "add_suffix_on_collision": True}
        options["group_id"] = self.group_id
        with TaskGroup(**options) as group:
            returned = self.function(*args, **kwargs)
        return group if returned is None else returned

    def override(self, **options: Unpack[DecoratedGroupOptions]) -> "GroupFactory[P, R]":
        """Return the same decorated function with other options."""
        return GroupFactory(self.function, {**self.options, **options})

    def partial(self, **_: Any) -> NoReturn:
        """Refuse to make mapped groups."""
        self._refuse("partial")

    def expand(self, **_: Any) -> NoReturn:
        """Refuse to make mapped groups."""
        self._refuse("expand")

    def expand_kwargs(self, _: Any) -> NoReturn:
        """Refuse to make mapped groups."""
        self._refuse("expand_kwargs")

    def _refuse(self, method: str) -> NoReturn:
        raise DagError(
            f"Task group {self.group_id!r}: {method}() would make a mapped group, which there is "
            "not; expand each of its tasks, or call the group in a loop."
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
