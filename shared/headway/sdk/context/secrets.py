"""Connections and variables, as tasks and templates ask for them."""

import json
import logging
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeVar, overload

from headway.domain.connection import Connection
from headway.sdk.authoring.current import current_file, is_called_by_program
from headway.sdk.exceptions import RefusedException
from headway.sdk.running.context import running_context
from headway.sdk.running.file_secrets import SecretSource
from headway.sdk.running.granted import absent_variable, granted_connection
from headway.sdk.running.provided_secrets import provided_secrets
from headway.sdk.running.task_runtime import TaskRuntime

T = TypeVar("T")

_UNSET: Final[Any] = object()


class BaseHook:
    """What reaches something outside; hooks of users may derive from it."""

    @property
    def log(self) -> logging.Logger:
        """The logger of the hook's class: what it is told from INFO on is in the attempt's log."""
        return logging.getLogger(f"{type(self).__module__}.{type(self).__qualname__}")

    @classmethod
    def get_connection(cls, conn_id: str) -> Connection:
        """Return the connection of that id, if the task's DAG is granted it.

        While a DAG file is parsed its bundle must be granted it.  AirflowNotFoundException when
        there is none; AirflowException without the grant, and elsewhere.
        """
        return granted_connection(_source(f"BaseHook.get_connection({conn_id!r})"), conn_id)


class Variable:
    """The variables that the task's DAG is granted, or a DAG file's bundle."""

    @overload
    @staticmethod
    def get(key: str, *, deserialize_json: Literal[False] = False) -> str: ...

    @overload
    @staticmethod
    def get(key: str, default: T, *, deserialize_json: Literal[False] = False) -> str | T: ...

    @overload
    @staticmethod
    def get(key: str, default: Any = ..., *, deserialize_json: bool) -> Any: ...

    @staticmethod
    def get(key: str, default: Any = _UNSET, *, deserialize_json: bool = False) -> Any:
        """Return the text of the variable, or what it holds as JSON; else the default, if any.

        While a DAG file is parsed its bundle must be granted it.  AirflowNotFoundException when
        there is none; AirflowException without the grant, also where a default is given, for what
        is no JSON, and elsewhere.
        """
        return _variable(_source(f"Variable.get({key!r})"), key, default, as_json=deserialize_json)

    @staticmethod
    def set(key: str, *_: object, **__: object) -> NoReturn:
        """Refuse: tasks do not change variables."""
        raise RefusedException(
            f"A task cannot set the variable {key!r}. Pass values between tasks by what they "
            "return, or have a user run `headway variables set`."
        )


@dataclass(frozen=True, slots=True)
class Connections:
    """`conn` in templates: `{{ conn.warehouse.host }}`, `{{ conn["my-id"].port }}`."""

    _runtime: TaskRuntime

    def __getattr__(self, conn_id: str) -> Connection:
        if conn_id.startswith("__"):  # a question of Python's, not of a template
            raise AttributeError(conn_id)
        return granted_connection(self._runtime, conn_id)

    def __getitem__(self, conn_id: str) -> Connection:
        return granted_connection(self._runtime, conn_id)


@dataclass(frozen=True, slots=True)
class VariableValues:
    """`var.value` and `var.json` in templates: `{{ var.value.region }}`, `{{ var.json.a.b }}`."""

    _runtime: TaskRuntime
    _as_json: bool

    def get(self, key: str, default: Any = _UNSET) -> Any:
        """Return the variable, or the default: `{{ var.value.get("region", "eu") }}`."""
        return _variable(self._runtime, key, default, as_json=self._as_json)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)
        return self.get(key)

    def __getitem__(self, key: str) -> Any:
        return self.get(key)


@dataclass(frozen=True, slots=True)
class Variables:
    """`var` in templates."""

    value: VariableValues
    json: VariableValues


def names_of(runtime: TaskRuntime) -> dict[str, object]:
    """Return `conn` and `var` of a context; they ask only for what is used."""
    values, as_json = VariableValues(runtime, False), VariableValues(runtime, True)
    return {"conn": Connections(runtime), "var": Variables(values, as_json)}


def _variable(source: SecretSource, key: str, default: Any, *, as_json: bool) -> Any:
    text = source.get_variable(key)
    if text is None:
        return absent_variable(source, key, as_json=as_json) if default is _UNSET else default
    if not as_json:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedException(f"The variable {key!r} does not hold JSON.") from None


def _source(call: str) -> SecretSource:
    context, file = running_context(), current_file()
    if context is not None:
        return context.runtime
    if file is not None and file.secrets is not None:
        return file.secrets
    if file is None and is_called_by_program():  # `python my_dag.py`, with dag.test()
        return provided_secrets()
    where = "while a DAG file is read" if file is not None else "outside of a task"
    raise RefusedException(
        f"{call} was called {where}. Connections and variables are given to running tasks only: "
        "call it inside of a task's function, or use a template such as {{ conn.my_id.host }} or "
        "{{ var.value.my_key }} in an argument of the task."
    )
