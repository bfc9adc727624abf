"""A task's output as an argument of another task, before there is a value."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NoReturn

from headway.domain.arguments import MAPPINGS, PLAIN, RETURN_VALUE, XComReference
from headway.domain.errors import DagError
from headway.sdk.authoring.dependencies import Dependent, TaskDependent
from headway.sdk.authoring.groups.group_argument import GroupArgument
from headway.sdk.running.dag_param import DagParam

if TYPE_CHECKING:
    from typing import Any as AnyValue  # an output may be passed as whatever a function takes

    from headway.sdk.authoring.operator import BaseOperator
else:
    AnyValue = object

NO_FILL: Final = object()
"""Stands for no `fillvalue`, which may be None."""

_COLLECTIONS: Final = (list, tuple, set, frozenset)


class XComArg(TaskDependent, AnyValue):  # type: ignore[misc]
    """The value that `operator` will leave under `key`: the result of a TaskFlow call."""

    def __init__(self, operator: "BaseOperator", key: str = RETURN_VALUE) -> None:
        self.operator = operator
        self.key = key

    def as_operator(self) -> "BaseOperator":
        """Return the task that leaves the value."""
        return self.operator

    def as_teardown(
        self,
        *,
        setups: "Dependent | list[Dependent] | None" = None,
        on_failure_fail_dagrun: bool = False,
    ) -> "XComArg":
        """Mark the task as a teardown, see BaseOperator.as_teardown."""
        self.as_operator().as_teardown(setups=setups, on_failure_fail_dagrun=on_failure_fail_dagrun)
        return self

    def as_setup(self) -> "XComArg":
        """Mark the task as a setup, see BaseOperator.as_setup."""
        self.as_operator().as_setup()
        return self

    @property
    def reference(self) -> object:
        """This argument as data."""
        return XComReference(self.operator.task_id, self.key)

    def outputs(self) -> "Iterator[XComArg]":
        """Yield the outputs of tasks that this is made of: itself."""
        yield self

    def map(self, f: Callable[..., object]) -> "XComArg":
        """Return what a plain function makes of each item, in the process of the task."""
        from headway.sdk.authoring.outputs.combined import MapArg

        return MapArg(self, [f])

    def zip(self, *others: "XComArg", fillvalue: object = NO_FILL) -> "XComArg":
        """Return tuples of an item of this and one of each other, as many as the shortest has.

        With a `fillvalue`, which stands for items that are missing, as many as the longest has.
        """
        from headway.sdk.authoring.outputs.combined import ZipArg

        return ZipArg([self, *others], fillvalue)

    def concat(self, *others: "XComArg") -> "XComArg":
        """Return the items of this, and then those of each other."""
        from headway.sdk.authoring.outputs.combined import ConcatArg

        return ConcatArg([self, *others])

    def __getitem__(self, key: str) -> "XComArg":
        """Return the value under `key` of a task with multiple outputs."""
        if not isinstance(key, str):
            raise DagError(f"An XCom key must be a string, not {key!r}; index inside the task.")
        return XComArg(self.operator, key)

    def __iter__(self) -> NoReturn:
        raise DagError(
            f"The output of task {self.operator.task_id!r} has no value before the task has run; "
            "loop over it inside another task."
        )

    def __str__(self) -> str:
        """Return the template that pulls the value, so that it may stand inside an f-string."""
        if self.operator.mapped_group is not None:  # each instance has the value for its map index
            return f"{{{{ ti.output_of({self.operator.task_id!r}, {self.key!r}) }}}}"
        return f"{{{{ ti.xcom_pull(task_ids={self.operator.task_id!r}, key={self.key!r}) }}}}"

    def __repr__(self) -> str:
        key = "" if self.key == RETURN_VALUE else f"[{self.key!r}]"
        return f"{self.operator.task_id}{key}"


LATE: Final = (XComArg, DagParam, GroupArgument)
"""What stands for a value that is known when the task runs."""


def outputs_in(value: object) -> Iterator[XComArg]:
    """Yield every task output inside an argument."""
    return (found for found in late_in(value) if isinstance(found, XComArg))


def late_in(value: object) -> Iterator[XComArg | DagParam | GroupArgument]:
    """Yield what in an argument is known late; the argument may be a list of very many items.

    Besides an argument of a mapped group it yields the outputs that the group is expanded over.
    """
    ahead = [value]
    while ahead:
        item = ahead.pop()
        if isinstance(item, XComArg):
            yield from item.outputs()
        elif isinstance(item, DagParam):
            yield item
        elif isinstance(item, GroupArgument):
            yield item
            yield from item.outputs()
        elif isinstance(item, _COLLECTIONS):
            ahead += [inner for inner in item if type(inner) not in PLAIN]
        elif type(item) not in PLAIN and isinstance(item, MAPPINGS):
            ahead += [inner for inner in item.values() if type(inner) not in PLAIN]


def transform(
    value: object,
    leaf: Callable[[object], object],
    key: Callable[[object], object] = lambda name: name,
) -> object:
    """Rebuild an argument with `leaf` applied to everything that is no container.

    `key` is applied to the keys of dictionaries.
    """
    if type(value) in PLAIN:
        return leaf(value)
    if isinstance(value, MAPPINGS):
        return {key(name): transform(item, leaf, key) for name, item in value.items()}
    if isinstance(value, list):
        return [transform(item, leaf, key) for item in value]
    if isinstance(value, tuple):
        items = (transform(item, leaf, key) for item in value)
        make = getattr(value, "_make", tuple)  # a named tuple keeps its class
        return make(items)
    if isinstance(value, set | frozenset):
        kind = frozenset if isinstance(value, frozenset) else set
        return kind(transform(item, leaf, key) for item in value)
    return leaf(value)
