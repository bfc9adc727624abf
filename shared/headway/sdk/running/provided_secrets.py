"""Connections and variables from the environment of this process: for checks and tests of files."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.variable import SecretKind, StoredVariable
from headway.sdk.running.file_secrets import FileSecrets

if TYPE_CHECKING:
    from headway.runtime.settings.secret_keys import Provided


@dataclass(frozen=True, slots=True)
class ProvidedSource:
    """What was provided to this process, as to a worker: nothing is granted, no database asked."""

    provided: "Provided"

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return the connection of that id, None if there is none."""
        found = self.provided.find(SecretKind.CONNECTION, check_key("connection", conn_id))
        assert found is None or isinstance(found, Connection)
        return found

    def get_variable(self, key: str) -> str | None:
        """Return the text of the variable, None if there is none."""
        found = self.provided.find(SecretKind.VARIABLE, check_key("variable", key))
        assert found is None or isinstance(found, StoredVariable)
        return None if found is None else found.value


def provided_secrets() -> FileSecrets:
    """Return what a DAG file may read that is checked or tested in this process."""
    # Here and not above: services' children, which load this module, read no settings.
    from headway.runtime.settings.secret_keys import provided_here

    return FileSecrets(ProvidedSource(provided_here()), _absence)


def _absence(kind: SecretKind, name: str) -> str:
    from headway.runtime.settings.secret_keys import variable_of

    variable = variable_of(kind, name)
    default = ", or give Variable.get a default" if kind is SecretKind.VARIABLE else ""
    return (
        f"There is no {kind} {name!r} here. The file reads it while it is parsed, and a check or a "
        f"test of the file reads the environment alone. Set {variable} for the command, as in "
        f"`{variable}=… headway import-check FOLDER`{default}."
    )
