"""Connections that a task is granted, or why it gets none."""

from headway.domain.connection import Connection
from headway.sdk.exceptions import AirflowNotFoundException
from headway.sdk.running.task_runtime import TaskSecrets


def granted_connection(secrets: TaskSecrets, conn_id: str) -> Connection:
    """Return the connection of that id; AirflowNotFoundException when there is none.

    HeadwayError when the DAG is not granted it.
    """
    found = secrets.get_connection(conn_id)
    if found is None:
        raise AirflowNotFoundException(
            f"There is no connection {conn_id!r}; have a user run `headway connections add`."
        )
    return found
