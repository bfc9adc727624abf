"""Connections and variables that a DAG file reads at its top level, while it is loaded."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headway.domain.connection import Connection
from headway.domain.variable import SecretKind
from headway.sdk.exceptions import RefusedException
from headway.sdk.running.stand_ins import StandIns

Saying = Callable[[SecretKind, str], str]
"""What to tell the author about a name."""


class SecretSource(Protocol):
    """Where a DAG file gets them from; None stands for what is not there."""

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return a connection; RefusedException if the file may not have it."""

    def get_variable(self, key: str) -> str | None:
        """Return the text of a variable; RefusedException if the file may not have it."""


def tell_absence(kind: SecretKind, name: str) -> str:
    """Return what to do about a name that the database does not have."""
    command = "add" if kind is SecretKind.CONNECTION else "set"
    default = ", or give a default" if kind is SecretKind.VARIABLE else ""
    return f"There is no {kind} {name!r}; have a user run `headway {kind}s {command}`{default}."


@dataclass(slots=True)
class FileSecrets:
    """What one load of a DAG file reads: each name once, so that the file sees one value of it.

    `absence` says what to do about a name that is not there; where there are `stand_ins`, they
    are given for it.
    """

    source: SecretSource
    absence: Saying = tell_absence
    stand_ins: StandIns | None = None
    _connections: dict[str, Connection | None] = field(default_factory=dict)
    _variables: dict[str, str | None] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that were read, such as "variable:region", in order, found or not."""
        found = [f"{SecretKind.CONNECTION}:{name}" for name in self._connections]
        found += [f"{SecretKind.VARIABLE}:{name}" for name in self._variables]
        return tuple(sorted(found))

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return a connection, None if there is none; RefusedException from the source."""
        if conn_id not in self._connections:
            self._connections[conn_id] = self.source.get_connection(conn_id)
        return self._connections[conn_id]

    def get_variable(self, key: str) -> str | None:
        """Return the text of a variable, None if there is none; errors as above."""
        if key not in self._variables:
            self._variables[key] = self.source.get_variable(key)
        return self._variables[key]


@dataclass(frozen=True, slots=True)
class RefusedSecrets:
    """The source of a DAG file that may read nothing; `why` says why, and what to do."""

    why: Saying

    def get_connection(self, conn_id: str) -> Connection | None:
        """Refuse it."""
        raise RefusedException(self.why(SecretKind.CONNECTION, conn_id))

    def get_variable(self, key: str) -> str | None:
        """Refuse it."""
        raise RefusedException(self.why(SecretKind.VARIABLE, key))
