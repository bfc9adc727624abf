"""What a mapped task is expanded over, and the items that one of its instances is for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from headway.domain.arguments import RETURN_VALUE
from headway.domain.dag.mapping import MAX_MAP_LENGTH, item_indexes, map_length
from headway.domain.dag.spec import MapInput
from headway.domain.errors import DagError
from headway.sdk.authoring.outputs.items import input_of, item, length, named
from headway.sdk.authoring.xcom_arg import XComArg, outputs_in
from headway.sdk.exceptions import XComError
from headway.sdk.running.task_runtime import TaskRuntime
from headway.sdk.values import checks
from headway.sdk.xcoms.codec import decode_xcom

if TYPE_CHECKING:
    from headway.sdk.authoring.operator import BaseOperator

Literal: TypeAlias = Sequence[object] | Mapping[object, object]

KWARGS: Final = "expand_kwargs()"
"""What the one input of expand_kwargs is called: no argument can have this name."""


@dataclass(frozen=True, slots=True)
class Items:
    """The arguments of one instance; `untouched` are values of XComs, which are no templates."""

    arguments: Mapping[str, object]
    untouched: tuple[object, ...] = ()


class Expansion(Protocol):
    """How a mapped task is expanded."""

    def inputs(self) -> tuple[MapInput, ...]:
        """Return what decides how many instances there are."""

    def outputs(self) -> Iterator[XComArg]:
        """Yield the outputs of other tasks that are expanded over, or used in an item."""

    def literals(self) -> Iterator[Mapping[str, object]]:
        """Yield the arguments that are known before any task runs."""

    def data(self) -> Mapping[str, object]:
        """Return this as arguments to store with the task."""

    def items(self, runtime: TaskRuntime, map_index: int) -> Items:
        """Return the items of one instance.  Values of XComs are fetched, one item at a time."""


@dataclass(frozen=True, slots=True)
class Product:
    """Each item of an argument with each item of the others; the last argument varies fastest."""

    values: Mapping[str, XComArg | Literal]

    def inputs(self) -> tuple[MapInput, ...]:
        """Return one input for each argument."""
        return tuple(_input(name, value) for name, value in self.values.items())

    def outputs(self) -> Iterator[XComArg]:
        """Yield the outputs among the values, and inside them."""
        return outputs_in(self.values)

    def literals(self) -> Iterator[Mapping[str, object]]:
        """Yield each item of a list by itself."""
        for name, value in self.values.items():
            if isinstance(value, Sequence):
                yield from ({name: each} for each in value)

    def data(self) -> Mapping[str, object]:
        """Return the values under a name that no argument can have; dictionaries as pairs."""
        return {
            "expand()": {
                name: list(value.items()) if isinstance(value, Mapping) else value
                for name, value in self.values.items()
            }
        }

    def items(self, runtime: TaskRuntime, map_index: int) -> Items:
        """Return one item for each argument."""
        arguments = {
            name: _item(value, index, runtime)
            for (name, value), index in zip(
                self.values.items(), self._indexes(runtime, map_index), strict=True
            )
        }
        fetched = (name for name, value in self.values.items() if isinstance(value, XComArg))
        return Items(arguments, tuple(arguments[name] for name in fetched))

    def _indexes(self, runtime: TaskRuntime, map_index: int) -> list[int]:
        if len(self.values) == 1:
            return [map_index]
        lengths = [
            length(value, runtime) if isinstance(value, XComArg) else len(value)
            for value in self.values.values()
        ]
        return item_indexes(lengths, map_index)


@dataclass(frozen=True, slots=True)
class Rows:
    """One dictionary of arguments for each instance."""

    rows: XComArg | Sequence[object]

    def inputs(self) -> tuple[MapInput, ...]:
        """Return the one input."""
        return (_input(KWARGS, self.rows),)

    def outputs(self) -> Iterator[XComArg]:
        """Yield the outputs that the rows are, or hold."""
        return outputs_in(self.rows)

    def literals(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows that are written down."""
        if not isinstance(self.rows, XComArg):
            yield from (row for row in self.rows if isinstance(row, Mapping))

    def data(self) -> Mapping[str, object]:
        """Return the rows under a name that no argument can have."""
        return {KWARGS: self.rows}

    def items(self, runtime: TaskRuntime, map_index: int) -> Items:
        """Return one row."""
        row = _item(self.rows, map_index, runtime)
        fetched = isinstance(self.rows, XComArg)
        if isinstance(row, XComArg):
            stored = runtime.pull_xcom(row.operator.task_id, row.key)
            row, fetched = decode_xcom(stored, named(row)), True
        arguments = checks.mapping(row, f"Item {map_index} of {KWARGS}")
        return Items(arguments, tuple(arguments.values()) if fetched else ())


Kind = TypeVar("Kind", Product, Rows)


def product(values: Mapping[str, object], where: str) -> Product:
    """Return the expansion over these arguments, all checked."""
    if not values:
        raise DagError(f"{where}: expand() needs an argument to expand over: expand(name=[…]).")
    wanted = "a list, a tuple, a dictionary or the output of another task"
    checked = {
        name: _literal(value, f"{where}: {name} in expand()", wanted)
        for name, value in values.items()
    }
    return _bounded(Product(checked), where)


def rows(value: object, where: str) -> Rows:
    """Return the expansion over these rows, each checked to be a dictionary."""
    place = f"{where}: what {KWARGS} is given"
    wanted = "a list of dictionaries or the output of another task"
    if isinstance(value, Mapping):
        checks.refuse(place, wanted, value)
    checked = _literal(value, place, wanted)
    if isinstance(checked, Sequence):
        for number, row in enumerate(checked):
            if not checks.has_names(row) and not isinstance(row, XComArg):
                place = f"{where}: item {number} of {KWARGS}"
                checks.refuse(place, "a dictionary with string keys", row)
    assert not isinstance(checked, Mapping)
    return _bounded(Rows(checked), where)


def _literal(value: object, where: str, wanted: str) -> XComArg | Literal:
    if isinstance(value, XComArg):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence):
        checks.refuse(where, wanted, value)
    return list(value)


def _bounded(expansion: Kind, where: str) -> Kind:
    literals = [source for source in expansion.inputs() if source.length is not None]
    try:
        for some in ([source] for source in literals):
            map_length(some, {})
        if len(literals) == len(expansion.inputs()):
            map_length(literals, {})
    except DagError as error:
        raise DagError(f"{where}: {error}") from None
    return expansion


def _input(argument: str, value: XComArg | Literal) -> MapInput:
    if isinstance(value, XComArg):
        return input_of(argument, value)
    return MapInput(argument=argument, length=len(value))


def _item(value: XComArg | Literal, index: int, runtime: TaskRuntime) -> object:
    if isinstance(value, XComArg):
        return item(value, index, runtime)
    if not 0 <= index < len(value):
        raise DagError(
            f"There is no item {index} among {len(value)}; the DAG file makes other items than "
            "it did when it was parsed. Let it make the same ones each time that it is read."
        )
    items: Iterable[object] = value.items() if isinstance(value, Mapping) else value
    return next(islice(items, index, None))


def check_expandable(task: "BaseOperator", key: str, value: object) -> None:
    """Raise XComError when another task is expanded over `value`, which does not allow that."""
    for each in task.dag.tasks if task.dag else ():
        for source in each.map_inputs():
            if (task.task_id, key) in source.sources():
                _check_expandable(value, (task.task_id, key), each, source)


def _check_expandable(
    value: object, left: tuple[str, str], by: "BaseOperator", source: MapInput
) -> None:
    task_id, key = left
    why = f"task {by.task_id!r} is expanded over"
    if source.argument == KWARGS and source.combined is None:
        fits = isinstance(value, list | tuple) and all(isinstance(row, Mapping) for row in value)
        wanted = "a list of dictionaries"
    else:
        fits = isinstance(value, list | tuple | set | frozenset | Mapping)
        wanted = "a list, a tuple, a set or a dictionary"
    if not fits:
        place = "returned" if key == RETURN_VALUE else f"left under {key!r}"
        raise XComError(
            f"Task {task_id!r} {place} {checks.shown(value)}, but {why} it; let that be "
            f"{wanted}. An empty one skips the other task."
        )
    if isinstance(value, Sized) and len(value) > MAX_MAP_LENGTH:
        raise XComError(
            f"Task {task_id!r} made {len(value):,} items under {key!r}, but {why} "
            f"them, and a task may have {MAX_MAP_LENGTH:,} instances. Let each do more."
        )
