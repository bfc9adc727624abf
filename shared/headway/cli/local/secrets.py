"""Connections and variables for tasks that run in the process of their user."""

from dataclasses import dataclass

from headway.cli.input import session
from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.errors import DatabaseError
from headway.domain.variable import Secret, SecretKind, StoredVariable
from headway.runtime.settings import secret_keys
from headway.runtime.settings.secret_keys import Provided


@dataclass(frozen=True, slots=True)
class LocalSecrets:
    """What a worker would look through, in the same order; with the rights of the user.

    No grant is asked for.  Where no database is known, there is what was provided alone.
    """

    provided: Provided

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return the connection of that id, None if there is none."""
        found = self._find(SecretKind.CONNECTION, conn_id)
        assert found is None or isinstance(found, Connection)
        return found

    def get_variable(self, key: str) -> str | None:
        """Return the text of the variable, None if there is none."""
        found = self._find(SecretKind.VARIABLE, key)
        assert found is None or isinstance(found, StoredVariable)
        return None if found is None else found.value

    def _find(self, kind: SecretKind, name: str) -> Secret | None:
        provided = self.provided.find(kind, check_key(kind, name))
        return _stored(kind, name) if provided is None else provided


def _stored(kind: SecretKind, name: str) -> Secret | None:
    try:
        session.database_url()
    except DatabaseError:
        return None
    # Here and not above: most tests of a DAG read nothing, and need no database.
    from headway.actions.installation import secrets

    with session.transaction() as conn:
        return secrets.read(conn, kind, name, secret_keys.keys)
