"""What the author gives to a trial: XComs of other tasks, connections and variables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from headway.cli.input.secret_exports import exported_connection, exported_variable
from headway.domain.arguments import RETURN_VALUE, JsonValue
from headway.domain.connection import Connection
from headway.domain.errors import DagError, RequestError
from headway.domain.xcoms import XComItem
from headway.runtime.settings.secret_keys import provided_here
from headway.sdk.authoring.definition import DAG
from headway.sdk.exceptions import XComNotFound
from headway.sdk.running.provided_secrets import ProvidedSource
from headway.sdk.running.task_runtime import (
    LocalRuntime,
    MappedXComs,
    NoSecrets,
    RunName,
    TaskSecrets,
    XComs,
)
from headway.sdk.values.xcom import check_json
from headway.sdk.xcoms.codec import encode_xcom

GivenConnection: TypeAlias = Connection | str | Mapping[str, Any]
"""A connection as it is, as a URI or JSON text, or by its fields."""

XComKey: TypeAlias = str | tuple[str, str]
"""Whose XCom it is: a task's id, for what the task returned, or that with a key."""

_JSON_FILE: Final = "a JSON file with an object in it"


class LoneRuntime(LocalRuntime):
    """A runtime for one task: reading XComs of a task for which none were given is an error."""

    __slots__ = ()

    def pull_xcom(
        self, task_id: str, key: str, map_index: int = -1, of: RunName | None = None
    ) -> JsonValue:
        """Return what was given for that task under `key`; KeyError if that has other keys."""
        if of is None:
            self._need(task_id, key)
        return LocalRuntime.pull_xcom(self, task_id, key, map_index, of)

    def pull_xcoms(self, task_id: str, key: str, of: RunName | None = None) -> list[JsonValue]:
        """Return the list that was given for a mapped task."""
        if of is None:
            self._need(task_id, key)
        return LocalRuntime.pull_xcoms(self, task_id, key, of)

    def xcom_length(self, task_id: str, key: str) -> int:
        """Return how many items there are in what was given."""
        self._need(task_id, key)
        return LocalRuntime.xcom_length(self, task_id, key)

    def xcom_item(self, task_id: str, key: str, index: int) -> XComItem:
        """Return one item of what was given."""
        self._need(task_id, key)
        return LocalRuntime.xcom_item(self, task_id, key, index)

    def _need(self, task_id: str, key: str) -> None:
        if task_id == self.task_id or any(task_id == name for name, _ in self._given()):
            return
        shown = task_id if key == RETURN_VALUE else f"{task_id}:{key}"
        name = repr(task_id) if key == RETURN_VALUE else repr((task_id, key))
        raise XComNotFound(
            f"Task {self.task_id!r} needs the XCom {key!r} of task {task_id!r}, which does not "
            f"run here. Give its value: --xcom {shown}=JSON on the command line, "
            f"xcoms={{{name}: …}} in a test."
        )

    def _given(self) -> list[tuple[str, str]]:
        return [*self.xcoms, *self.mapped]


def given_xcoms(dag: DAG, given: Mapping[XComKey, object]) -> tuple[XComs, MappedXComs]:
    """Return the XComs of tasks and of mapped tasks, of which a list has one item an instance."""
    xcoms: XComs = {}
    mapped: MappedXComs = {}
    for whose, value in given.items():
        task_id, key = (whose, RETURN_VALUE) if isinstance(whose, str) else whose
        where = f"The XCom {key!r} given for task {task_id!r}"
        checked = encode_xcom(value, where)
        if not dag.get_task(task_id).is_mapped:
            xcoms[task_id, key] = checked
        elif isinstance(checked, list):
            mapped[task_id, key] = dict(enumerate(checked))
        else:
            raise DagError(f"{where} must be a list, as the task is mapped: one item an instance.")
    return xcoms, mapped


@dataclass(frozen=True, slots=True)
class GivenSecrets:
    """Connections and variables that were given; what is not among them, `others` are asked for."""

    connections: Mapping[str, Connection]
    variables: Mapping[str, str]
    others: TaskSecrets = field(default_factory=NoSecrets)

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return the connection of that id, None if there is none."""
        return self.connections.get(conn_id) or self.others.get_connection(conn_id)

    def get_variable(self, key: str) -> str | None:
        """Return the text of the variable, None if there is none."""
        return self.variables[key] if key in self.variables else self.others.get_variable(key)


def given_secrets(
    connections: Mapping[str, GivenConnection],
    variables: Mapping[str, object],
    others: TaskSecrets | None = None,
) -> GivenSecrets:
    """Return these connections and variables; a variable that is no text is held as JSON."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(check_json(value, f"Variable {key!r}"))
        for key, value in variables.items()
    }
    found = {conn_id: _connection(conn_id, given) for conn_id, given in connections.items()}
    return GivenSecrets(found, texts, others or NoSecrets())


def exported_secrets(connections: Path | None, variables: Path | None) -> GivenSecrets:
    """Return what files of exports hold, and else what was provided to this process."""
    read_connections = object_in(connections, "--connections")
    read_variables = object_in(variables, "--variables")
    return GivenSecrets(
        {
            conn_id: exported_connection(conn_id, value)
            for conn_id, value in read_connections.items()
        },
        {key: exported_variable(value) for key, value in read_variables.items()},
        ProvidedSource(provided_here()),
    )


def object_in(file: str | Path | None, what: str) -> dict[str, Any]:
    """Return what a JSON file holds by name; nothing for no file."""
    if file is None:
        return {}
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise RequestError(f"{what}: {file} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{what}: {file} is no JSON ({error}); write {_JSON_FILE}.") from None
    if not isinstance(found, dict):
        raise RequestError(f"{what}: {file} holds no object; write {_JSON_FILE}.")
    return found


def _connection(conn_id: str, given: GivenConnection) -> Connection:
    return given if isinstance(given, Connection) else exported_connection(conn_id, given)
