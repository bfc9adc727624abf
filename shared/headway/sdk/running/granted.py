"""Connections that a task or a DAG file is granted, or why it gets none."""

from headway.domain.connection import Connection
from headway.domain.variable import SecretKind
from headway.sdk.exceptions import AirflowNotFoundException
from headway.sdk.running.file_secrets import FileSecrets, SecretSource, tell_absence


def granted_connection(source: SecretSource, conn_id: str) -> Connection:
    """Return the connection of that id; AirflowNotFoundException when there is none.

    HeadwayError when it is not granted.
    """
    found = source.get_connection(conn_id)
    if found is None:
        raise AirflowNotFoundException(absence_of(source, SecretKind.CONNECTION, conn_id))
    return found


def absence_of(source: SecretSource, kind: SecretKind, name: str) -> str:
    """Return what to do about a connection or variable that is not there."""
    absence = source.absence if isinstance(source, FileSecrets) else tell_absence
    return absence(kind, name)
