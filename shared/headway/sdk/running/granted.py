"""Connections and variables that a task or a DAG file is granted, or why it gets none."""

from typing import NoReturn

from headway.domain.connection import Connection
from headway.domain.variable import SecretKind
from headway.sdk.exceptions import AirflowNotFoundException
from headway.sdk.running.file_secrets import FileSecrets, SecretSource, tell_absence
from headway.sdk.running.stand_ins import StandIns


def granted_connection(source: SecretSource, conn_id: str) -> Connection:
    """Return the connection of that id; AirflowNotFoundException when there is none.

    HeadwayError when it is not granted.
    """
    found = source.get_connection(conn_id)
    if found is not None:
        return found
    stand_ins = _stand_ins(source)
    if stand_ins is None:
        _refuse(source, SecretKind.CONNECTION, conn_id)
    return stand_ins.connection(conn_id)


def absent_variable(source: SecretSource, key: str, *, as_json: bool) -> object:
    """Return what stands in for a variable that is not there; else AirflowNotFoundException."""
    stand_ins = _stand_ins(source)
    if stand_ins is None:
        _refuse(source, SecretKind.VARIABLE, key)
    return stand_ins.variable(key, as_json=as_json)


def _stand_ins(source: SecretSource) -> StandIns | None:
    return source.stand_ins if isinstance(source, FileSecrets) else None


def _refuse(source: SecretSource, kind: SecretKind, name: str) -> NoReturn:
    absence = source.absence if isinstance(source, FileSecrets) else tell_absence
    raise AirflowNotFoundException(absence(kind, name))
