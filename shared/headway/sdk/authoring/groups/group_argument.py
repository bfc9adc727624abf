"""An argument of the function of a mapped group, before there is a value."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from headway.domain.errors import DagError
from headway.sdk.authoring.current import is_making_task
from headway.sdk.running.context import running_context

if TYPE_CHECKING:
    from typing import Any as AnyValue  # it may be passed as whatever a function takes

    from headway.sdk.authoring.groups.mapped_group import MappedTaskGroup
    from headway.sdk.authoring.xcom_arg import XComArg
else:
    AnyValue = object


class GroupArgument(AnyValue):  # type: ignore[misc]
    """The value of an argument of a mapped group, as an argument of a task in the group.

    An instance of the task gets the value for its own map index.
    """

    def __init__(self, group: "MappedTaskGroup", name: str) -> None:
        self.group = group
        self.name = name

    def outputs(self) -> "Iterator[XComArg]":
        """Yield the outputs of tasks that the group is expanded over."""
        return self.group.expansion.outputs()

    @property
    def reference(self) -> object:
        """This argument as data."""
        return {"task_group()": {"group": self.group.group_id, "argument": self.name}}

    def __str__(self) -> str:
        """Return the template of the value, so that it may stand inside an f-string.

        Nothing would render it that a task itself makes, so there it is refused.
        """
        if running_context() is not None:
            self._has_none()
        return f"{{{{ ti.group_argument({self.name!r}) }}}}"

    def __repr__(self) -> str:
        return f"<GroupArgument: {self.name}>"

    def _has_none(self, *_: object) -> NoReturn:
        raise DagError(
            f"Task group {self.group.group_id!r}: the argument {self.name!r} is another one for "
            "each map index, and has no value here; pass it to a task and use it there."
        )

    def __bool__(self) -> bool:
        """Refuse to be a condition; a constructor may ask whether there is an argument."""
        return is_making_task() or self._has_none()

    def __eq__(self, other: object) -> bool:
        """Refuse to be compared; a constructor may look for another value."""
        return self is other if is_making_task() else self._has_none()

    __iter__ = __len__ = __getitem__ = _has_none
    __lt__ = __le__ = __gt__ = __ge__ = _has_none
    __hash__ = object.__hash__
