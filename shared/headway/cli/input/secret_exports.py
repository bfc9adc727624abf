"""Connections and variables as `export` commands write them, Headway's and Airflow's."""

import json
from collections.abc import Mapping
from typing import Any, Final

from headway.domain.connection import Connection
from headway.domain.errors import SecretError

_DESCRIPTION: Final = "description"


def exported_connection(conn_id: str, value: object) -> Connection:
    """Return a connection from a URI, or from its fields; SecretError if it is none.

    A description, which Airflow's exports have, is left out.
    """
    if isinstance(value, str):
        return Connection.from_text(conn_id, value)
    if isinstance(value, Mapping):
        fields = {name: each for name, each in value.items() if name != _DESCRIPTION}
        return Connection.from_fields(conn_id, fields)
    raise SecretError(f"Connection {conn_id!r}: it must be a URI or an object of fields.")


def exported_variable(value: object) -> str:
    """Return the text of a variable; what is no text is written as JSON.

    Airflow exports a variable that has a description as an object of the value and that.
    """
    if isinstance(value, Mapping) and set(value) == {"value", _DESCRIPTION}:
        value = value["value"]
    return value if isinstance(value, str) else json.dumps(value)


def described(values: Mapping[str, Any]) -> list[str]:
    """Return the names of those that an export describes: Headway keeps no descriptions."""
    return [
        name
        for name, value in values.items()
        if isinstance(value, Mapping) and value.get(_DESCRIPTION)
    ]
