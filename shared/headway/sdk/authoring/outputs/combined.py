"""`map`, `zip` and `concat` of task outputs: what is made of them when a task runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, ClassVar, NoReturn

from headway.domain.dag.mapping import DEEPEST_COMBINED
from headway.domain.dag.spec import Combined
from headway.domain.errors import DagError
from headway.sdk.authoring.dependencies import End
from headway.sdk.authoring.xcom_arg import NO_FILL, XComArg
from headway.sdk.exceptions import XComError
from headway.sdk.values import checks

if TYPE_CHECKING:
    from headway.sdk.authoring.operator import BaseOperator


class CombinedArg(XComArg):
    """A list that is made of what several tasks leave, or of what one leaves, by a function."""

    method: ClassVar[str]

    def __init__(self, parts: Sequence[object]) -> None:
        self.parts = tuple(self._checked(part) for part in parts)
        self.depth: int = 1 + max(
            part.depth if isinstance(part, CombinedArg) else 0 for part in self.parts
        )
        if self.depth > DEEPEST_COMBINED:
            raise DagError(
                f"{self!r} is combined at more than {DEEPEST_COMBINED} levels; combine the lists "
                "in a task of their own."
            )

    def _checked(self, part: object) -> XComArg:
        if not isinstance(part, XComArg):
            checks.refuse(f"What {self.method}() is given", "the output of a task", part)
        return part

    @property
    def combined(self) -> Combined:
        """How the items are made of those of the parts."""
        raise NotImplementedError

    def values(self, parts: Sequence[object]) -> list[object]:
        """Return all items, given the values of the parts."""
        return list(self.of(*(items_in(value, repr(self)) for value in parts)))

    def of(self, *parts: Sequence[object]) -> Iterator[object]:
        """Yield all items, given those of the parts."""
        raise NotImplementedError

    def outputs(self) -> Iterator[XComArg]:
        """Yield the outputs of tasks that it is made of."""
        for part in self.parts:
            yield from part.outputs()

    def firsts(self) -> list[End]:
        """Return the tasks whose outputs it is made of."""
        tasks = {output.operator.task_id: output.operator for output in self.outputs()}
        return [(task, None) for task in tasks.values()]

    def lasts(self) -> list[End]:
        """Return the tasks whose outputs it is made of."""
        return self.firsts()

    def as_operator(self) -> "BaseOperator":
        """Refuse: it is made of the outputs of several tasks."""
        raise DagError(f"Here a task is needed, and {self!r} is none; pass tasks.")

    def __getitem__(self, key: str) -> NoReturn:
        raise DagError(f"{self!r} is a list when a task runs; take an item of it inside the task.")

    def __iter__(self) -> NoReturn:
        raise DagError(f"{self!r} has no items before a task runs; loop over it inside a task.")

    def __str__(self) -> str:
        """Refuse to be part of a text, for there is no template that says it."""
        raise DagError(f"{self!r} cannot be part of a text; pass it as an argument by itself.")

    def __repr__(self) -> str:
        first, *others = map(repr, self.parts)
        return f"{first}.{self.method}({', '.join(others)})"


class MapArg(CombinedArg):
    """What a function makes of each item of an output, in the process of the task."""

    method = "map"

    def __init__(self, part: XComArg, functions: Sequence[Callable[..., object]]) -> None:
        super().__init__([part])
        for function in functions:
            if not callable(function) or hasattr(function, "expand"):
                wanted = "a plain function, which @task has not decorated"
                checks.refuse(f"What map() of {part!r} is given", wanted, function)
        self.functions = tuple(functions)

    @property
    def combined(self) -> Combined:
        """One item of each."""
        return Combined.MAP

    def of(self, *parts: Sequence[object]) -> Iterator[object]:
        """Yield what the functions make of each item."""
        return map(self.applied, *parts)

    def applied(self, item: object) -> object:
        """Return what the functions, one after the other, make of an item."""
        for function in self.functions:
            item = function(item)
        return item

    def map(self, f: Callable[..., object]) -> XComArg:
        """Return what that function makes of each item of this."""
        return MapArg(self.parts[0], [*self.functions, f])

    @property
    def reference(self) -> object:
        """This argument as data: code is part of the file, its name will do."""
        names = [getattr(each, "__qualname__", type(each).__name__) for each in self.functions]
        return {"map()": {"of": self.parts[0].reference, "functions": names}}

    def __repr__(self) -> str:
        names = (getattr(each, "__name__", type(each).__name__) for each in self.functions)
        return "".join((repr(self.parts[0]), *(f".map({name})" for name in names)))


class ZipArg(CombinedArg):
    """Tuples of the items of several outputs: as many as the shortest has, or the longest."""

    method = "zip"

    def __init__(self, parts: Sequence[object], fillvalue: object) -> None:
        super().__init__(parts)
        self.fillvalue = fillvalue

    @property
    def combined(self) -> Combined:
        """Whether what is shorter than the others is filled up."""
        return Combined.ZIP if self.fillvalue is NO_FILL else Combined.ZIP_LONGEST

    def of(self, *parts: Sequence[object]) -> Iterator[object]:
        """Yield the tuples."""
        if self.fillvalue is NO_FILL:
            return zip(*parts, strict=False)
        return zip_longest(*parts, fillvalue=self.fillvalue)

    @property
    def reference(self) -> object:
        """This argument as data."""
        fill = {} if self.fillvalue is NO_FILL else {"fillvalue": self.fillvalue}
        return {"zip()": [part.reference for part in self.parts], **fill}


class ConcatArg(CombinedArg):
    """The items of several outputs, one output after the other."""

    method = "concat"

    @property
    def combined(self) -> Combined:
        """All items of all parts."""
        return Combined.CONCAT

    def of(self, *parts: Sequence[object]) -> Iterator[object]:
        """Yield the items of the first part, then those of the next."""
        return chain(*parts)

    def concat(self, *others: XComArg) -> XComArg:
        """Return this with the items of others after it."""
        return ConcatArg([*self.parts, *others])

    @property
    def reference(self) -> object:
        """This argument as data."""
        return {"concat()": [part.reference for part in self.parts]}


def items_in(value: object, where: str) -> Sequence[object]:
    """Return the items of a value as an expansion over it has them; XComError if it has none."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    raise XComError(
        f"{where} needs a list, a tuple, a set or a dictionary, not {checks.shown(value)}; return "
        "one from the task before it."
    )
