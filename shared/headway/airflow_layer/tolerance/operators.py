"""Operators of headway.sdk that take what Airflow's took.

Each is made when it is first asked for, from the operator of the same name: what the SDK gets,
the layer has.
"""

from abc import ABCMeta
from collections.abc import Collection, Mapping
from inspect import Parameter
from typing import Any, Final, NoReturn

from headway import sdk
from headway.airflow_layer.gaps import error_of
from headway.airflow_layer.notes import note
from headway.airflow_layer.tolerance.absent_context import refuse_stores
from headway.airflow_layer.tolerance.arguments import by_name, of_task
from headway.airflow_layer.tolerance.stored_objects import as_data
from headway.airflow_layer.tolerance.templating import RendersObjects
from headway.sdk.authoring.current import current_dag
from headway.sdk.authoring.operator import BaseOperator as Plain
from headway.sdk.authoring.operator import OperatorType, accepted_names, place
from headway.sdk.authoring.task_options import REFUSED
from headway.sdk.values.signatures import signature

_MADE: Final[dict[type, type]] = {}


class TolerantOperatorType(OperatorType, ABCMeta):
    """Make operators from the arguments that Airflow's take."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        """Make a task; the first arguments may be without names."""
        if args:
            kind = f"{place(current_dag(), given.get('task_id', args[0]))}: {cls.__name__}"
            given = by_name(kind, _positional(cls), args, given)
        _refuse_gaps(cls, given)
        return super().__call__(**_tidy(cls, given))


class TolerantOperator(RendersObjects, metaclass=TolerantOperatorType):
    """What all operators of the layer are."""

    @classmethod
    def as_data(cls, item: object) -> object:
        """Return how an object among the arguments is stored with the DAG."""
        return as_data(item)

    @classmethod
    def key_as_data(cls, key: object) -> object:
        """Return how a key of a dictionary among the arguments is stored with the DAG."""
        return key if isinstance(key, str) else str(key)

    @classmethod
    def partial(cls, **arguments: Any) -> Any:
        """Fix some arguments of a mapped task."""
        _refuse_gaps(cls, arguments)
        return super().partial(**_tidy(cls, arguments))

    def defer(self, **_: Any) -> NoReturn:
        """Say that a task cannot be deferred."""
        raise error_of(type(self).__module__, type(self).__name__, of="deferrable")


def tolerant(operator: type) -> type:
    """Return the operator of the layer that is like one of the SDK's."""
    if operator is Plain:
        return TolerantOperator
    if operator not in _MADE:
        bases = [tolerant(base) for base in operator.__bases__ if issubclass(base, Plain)]
        named = {
            "__module__": __name__,
            "__doc__": operator.__doc__,
            "operator_name": operator.__dict__.get("operator_name"),
        }
        _MADE[operator] = TolerantOperatorType(operator.__name__, (*bases, operator), named)
    return _MADE[operator]


def _refuse_gaps(operator: type, given: Mapping[str, Any]) -> None:
    """Refuse what a task would defer itself by, and a function that asks for a store."""
    refuse_stores(given.get("python_callable"))
    if given.get("deferrable"):
        raise error_of(f"{operator.__name__}(deferrable=True)", of="deferrable")


def _positional(operator: type) -> list[str]:
    """Return the names of the arguments that may come without one."""
    parameters = list(signature(operator.__init__).parameters.values())[1:]  # type: ignore[misc]
    named = [each.name for each in parameters if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    return named or ["task_id"]


def _tidy(operator: type, given: Mapping[str, Any]) -> dict[str, Any]:
    accepted = accepted_names(operator)
    own = dict(given)
    defaults = own.pop("default_args", None) if "default_args" not in accepted else None
    if isinstance(defaults, Mapping):
        own = {**_taken(operator, of_task(defaults, accepted), accepted), **own}
    return of_task(own, accepted)


def _taken(
    operator: type, defaults: Mapping[str, Any], accepted: Collection[str]
) -> dict[str, Any]:
    """Return what an operator takes of its own default_args, and what it refuses; note the rest."""
    taken = {name: value for name, value in defaults.items() if name in {*accepted, *REFUSED}}
    for name in defaults.keys() - taken.keys():
        note(
            f"default_args:{operator.__name__}:{name}",
            f"{operator.__name__} does not take {name}, which is in the default_args of a task: "
            "leave it out.",
        )
    return taken


def __getattr__(name: str) -> type:
    if name == "BaseOperator":
        return TolerantOperator
    found = getattr(sdk, name)
    if not (isinstance(found, type) and issubclass(found, Plain)):
        raise AttributeError(f"module {__name__!r} has no operator {name!r}")
    return tolerant(found)
