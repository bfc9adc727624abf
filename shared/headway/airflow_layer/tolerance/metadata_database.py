"""Names of Airflow's metadata database: a file may import them, and what uses one fails."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Final, NoReturn, TypeVar

from headway.airflow_layer.gaps import error_of
from headway.airflow_layer.notes import note

Function = TypeVar("Function", bound=Callable[..., Any])

_SESSION: Final = "airflow.utils.session"
_HOMES: Final = {
    **dict.fromkeys(("NEW_SESSION", "create_session"), _SESSION),
    **dict.fromkeys(("Session", "engine"), "airflow.settings"),
    **dict.fromkeys(("BaseJob", "Job"), "airflow.jobs"),
    **dict.fromkeys(("delete_dag", "trigger_dag"), "airflow.api.common"),
    **dict.fromkeys(("DagBag", "DagModel", "DagTag", "Log", "Pool"), "airflow.models"),
    **dict.fromkeys(("SlaMiss", "TaskFail", "TaskReschedule", "XCom"), "airflow.models"),
}
"""The module that has each name."""


class DatabaseStandIn:
    """A class, function or object of the database, which is refused when it is used."""

    def __init__(self, module: str, name: str) -> None:
        self._whole = module, name

    def _refuse(self) -> NoReturn:
        raise error_of(*self._whole)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse()

    def __call__(self, *_args: object, **_given: object) -> Any:
        """Refuse to be called."""
        self._refuse()

    def __enter__(self) -> Any:
        self._refuse()

    def __exit__(self, *_: object) -> None:
        """Never be reached."""

    def __mro_entries__(self, _bases: object) -> tuple[type, ...]:
        self._refuse()

    def __or__(self, other: Any) -> Any:
        return self  # an annotation, as is what follows

    __ror__ = __or__


def provide_session(function: Function) -> Function:
    """Return the function, whose parameter `session` is refused when the function uses it."""
    _say("provide_session")
    taken = signature(function)

    @wraps(function)
    def with_session(*args: Any, **given: Any) -> Any:
        bound = taken.bind_partial(*args, **given)
        if bound.arguments.get("session") is None:
            bound.arguments["session"] = DatabaseStandIn(_SESSION, "session")
        return function(*bound.args, **bound.kwargs)

    return with_session  # type: ignore[return-value]


def __getattr__(name: str) -> DatabaseStandIn:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _say(name)
    return DatabaseStandIn(_HOMES[name], name)


def _say(name: str) -> None:
    note(
        f"database:{name}",
        f"The file imports {name}, which looks into Airflow's database: a task that uses it fails. "
        "Use the context (ti, dag_run, prev_data_interval_start_success), or ask the API.",
    )
