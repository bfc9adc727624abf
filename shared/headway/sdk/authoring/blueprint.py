"""What the instances of a mapped task have in common: the operator and what partial() fixes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from headway.domain.errors import DagError
from headway.sdk.authoring.operator import BaseOperator, accepted_names, check_arguments
from headway.sdk.authoring.python_operator import check_call
from headway.sdk.authoring.task_options import TASK_OPTIONS
from headway.sdk.running.context import SPARK
from headway.sdk.values import checks
from headway.sdk.values.names import call_of
from headway.sdk.values.signatures import takes


class Blueprint(Protocol):
    """An operator and its arguments, all but those that are expanded.

    `where` in these methods is the place that messages name.
    """

    @property
    def operator(self) -> type[BaseOperator]:
        """The class of the instances."""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """What the DAG's default_args give to an operator of this class."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments, and the options, that all instances share; without the task_id."""

    def check(self, names: Collection[str], where: str) -> None:
        """Refuse the names of expanded arguments that do not fit."""

    def check_complete(self, names: Collection[str], where: str) -> None:
        """Refuse to leave out what is needed besides these expanded arguments."""

    def filled(self, items: Mapping[str, object]) -> dict[str, Any]:
        """Return all arguments of an instance."""


@dataclass(frozen=True)
class OperatorBlueprint:
    """An operator class: what is expanded are arguments of the operator."""

    operator: type[BaseOperator]
    defaults: Mapping[str, Any]
    arguments: Mapping[str, Any]

    def check(self, names: Collection[str], where: str) -> None:
        """Refuse options, arguments that are fixed already, and unknown ones."""
        for name in names:
            if name in TASK_OPTIONS or name == "task_id":
                raise DagError(
                    f"{where}: {name} is the same for all instances; give it to partial()."
                )
        _refuse_fixed(names, self.arguments, where)
        checks.known(names, accepted_names(self.operator), f"{where}: {self.operator.__name__}")

    def check_complete(self, names: Collection[str], where: str) -> None:
        """Refuse to leave out an argument of the operator that has no default."""
        given = {**self.filled(dict.fromkeys(names)), "task_id": ""}
        check_arguments(self.operator, given, where)

    def filled(self, items: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments with the items beside them."""
        return {**self.defaults, **self.arguments, **items}


@dataclass(frozen=True)
class FunctionBlueprint:
    """A decorated function: what is expanded are arguments of the function."""

    operator: type[BaseOperator]
    defaults: Mapping[str, Any]
    options: Mapping[str, Any]
    function: Callable[..., Any]
    fixed: Mapping[str, Any]

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the operator that calls the function."""
        return {
            **self.options,
            "python_callable": self.function,
            "op_args": (),
            "op_kwargs": self.fixed,
        }

    def check(self, names: Collection[str], where: str) -> None:
        """Refuse arguments that are fixed already, and those that the function does not take."""
        accepted = keywords_of(self.function)
        for name in names:
            if name in TASK_OPTIONS and accepted is not None and name not in accepted:
                raise DagError(
                    f"{where}: {name} is an option, the same for all instances; give it to the "
                    f"decorator, @task({name}=…), or to override()."
                )
        _refuse_fixed(names, self.fixed, where)
        if SPARK in names and self.operator.needs_spark:
            raise DagError(f"{where}: {SPARK!r} is for Headway to fill; leave it out.")
        if accepted is not None:
            checks.known(names, accepted, f"{where}: {call_of(self.function)}()")

    def check_complete(self, names: Collection[str], where: str) -> None:
        """Refuse to leave out an argument of the function that has no default."""
        given = {**self.fixed, **dict.fromkeys(names)}
        check_call(self.function, (), given, lambda: where)

    def filled(self, items: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments, with the items among those of the function."""
        return {**self.defaults, **self.arguments, "op_kwargs": {**self.fixed, **items}}


def keywords_of(function: Callable[..., Any]) -> set[str] | None:
    """Return the names that a function takes as keywords; None when it takes any."""
    taken = takes(function)
    return None if taken is None or taken.others else set(taken.named)


def _refuse_fixed(names: Iterable[str], fixed: Collection[str], where: str) -> None:
    for name in names:
        if name in fixed:
            raise DagError(
                f"{where}: {name} is given to partial() already; leave it out of one of the two."
            )
