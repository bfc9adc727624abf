"""Connections and variables that a DAG file reads at its top level, in the process of a test."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.domain.connection import Connection


@dataclass(frozen=True, slots=True)
class FileSource:
    """Has variables by name, connections as URIs by name, and notes what it is asked for."""

    variables: Mapping[str, str] = field(default_factory=dict)
    connections: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return a connection, None if there is none."""
        self.asked.append(conn_id)
        uri = self.connections.get(conn_id)
        return None if uri is None else Connection.from_text(conn_id, uri)

    def get_variable(self, key: str) -> str | None:
        """Return the text of a variable, None if there is none."""
        self.asked.append(key)
        return self.variables.get(key)
