"""Connection: what hooks of provider packages read, with `extra` as the text that it is there."""

import json
from collections.abc import Mapping
from typing import Any

from headway.airflow_layer.counterparts.installed_providers import hook_class
from headway.domain import connection
from headway.sdk.context.secrets import BaseHook
from headway.sdk.exceptions import AirflowException

FIELDS = ("conn_type", "host", "login", "password", "port", "schema")


class LayerConnection:
    """A connection as Airflow has it: its fields may be set, and `extra` is text.

    It is made of its fields, or of a `uri`; nothing is stored by it.
    """

    def __init__(
        self,
        conn_id: str | None = None,
        conn_type: str | None = None,
        description: str | None = None,
        *,
        uri: str | None = None,
        extra: str | Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        unknown = sorted(fields.keys() - set(FIELDS))
        if unknown:
            raise TypeError(f"Connection() has no argument {unknown[0]!r}.")
        if uri is not None:
            if conn_type or extra or fields:
                raise AirflowException(
                    f"Connection {conn_id!r}: give a uri, or the fields, and not both."
                )
            read = connection.Connection.from_uri(conn_id or "unnamed", uri)
            conn_type, extra = read.conn_type, read.extra or None
            fields = {name: getattr(read, name) for name in FIELDS[1:]}
        self.conn_id = conn_id
        self.conn_type = conn_type
        self.description = description
        self.host: str | None = fields.get("host")
        self.login: str | None = fields.get("login")
        self.password: str | None = fields.get("password")
        self.port: int | None = fields.get("port")
        self.schema: str | None = fields.get("schema")
        self.extra = extra if isinstance(extra, str) or extra is None else json.dumps(dict(extra))

    @classmethod
    def of(cls, found: connection.Connection) -> "LayerConnection":
        """Return a connection of Headway's in this form."""
        fields = {name: getattr(found, name) for name in FIELDS}
        return cls(found.conn_id, extra=found.extra or None, **fields)

    @classmethod
    def get(cls, conn_id: str) -> "LayerConnection":
        """Return the connection of that id, if the task's DAG is granted it."""
        return cls.of(BaseHook.get_connection(conn_id))

    @classmethod
    def get_connection_from_secrets(cls, conn_id: str) -> "LayerConnection":
        """Return the connection of that id, if the task's DAG is granted it."""
        return cls.get(conn_id)

    @classmethod
    def from_uri(cls, uri: str, conn_id: str) -> "LayerConnection":
        """Read `type://login:password@host:port/schema?name=value`."""
        return cls(conn_id, uri=uri)

    @classmethod
    def from_json(cls, value: str | Mapping[str, Any], conn_id: str | None = None) -> Any:
        """Read a JSON object of the fields."""
        text = value if isinstance(value, str) else json.dumps(dict(value))
        found = cls.of(connection.Connection.from_json(conn_id or "unnamed", text))
        found.conn_id = conn_id
        return found

    @property
    def extra_dejson(self) -> dict[str, Any]:
        """`extra` as a dictionary; AirflowException if it is no JSON object."""
        return self.get_extra_dejson()

    def get_extra_dejson(self, nested: bool = False) -> dict[str, Any]:
        """Return `extra` as a dictionary; with `nested`, texts in it that are JSON as well."""
        if not self.extra:
            return {}
        found = _json(self.extra)
        if not isinstance(found, dict):
            raise AirflowException(f"Connection {self.conn_id!r}: extra is not a JSON object.")
        return {name: _unnested(value) for name, value in found.items()} if nested else found

    def get_extra(self) -> str | None:
        """Return `extra`."""
        return self.extra

    def get_password(self) -> str | None:
        """Return the password."""
        return self.password

    def get_uri(self) -> str:
        """Return the connection as a URI, which shows the password."""
        return self._stored().get_uri()

    def as_json(self) -> str:
        """Return the connection as a JSON object without its id."""
        return self._stored().to_json()

    def to_dict(self, *, prune_empty: bool = False, validate: bool = True) -> dict[str, Any]:
        """Return the fields by name; with `prune_empty`, those that it has."""
        del validate  # the fields are checked when the connection is stored
        names = ("conn_id", "conn_type", "description", *FIELDS[1:])
        found = {name: getattr(self, name) for name in names} | {"extra": self.extra_dejson}
        return {name: value for name, value in found.items() if value or not prune_empty}

    def get_hook(self, *, hook_params: Mapping[str, Any] | None = None) -> Any:
        """Return the hook that a provider package has for connections of this type."""
        found = hook_class(self.conn_type or "", self.conn_id or "")
        return found(
            **{getattr(found, "conn_name_attr", "conn_id"): self.conn_id}, **hook_params or {}
        )

    def __repr__(self) -> str:
        """Show nothing that may be secret."""
        return f"Connection(conn_id={self.conn_id!r}, conn_type={self.conn_type!r})"

    def __str__(self) -> str:
        return self.conn_id or ""

    def _stored(self) -> connection.Connection:
        given = {
            name: getattr(self, name) for name in FIELDS[1:] if getattr(self, name) is not None
        }
        return connection.Connection(
            conn_id=self.conn_id or "unnamed",
            conn_type=self.conn_type or "generic",
            extra=self.extra_dejson,
            **given,
        )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None  # the error that follows quotes nothing of it


def _unnested(value: Any) -> Any:
    found = _json(value) if isinstance(value, str) else None
    return value if found is None else found
