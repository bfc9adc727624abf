"""The DAG file of a version, as it was."""

from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import Header, Query, Response
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import PlainTextResponse

from headway.actions.dags import history
from headway.domain.accounts import Permission
from headway.domain.errors import VersionNotFoundError
from headway_api.airflow.accepted import JSON, TEXT, preferred
from headway_api.airflow.named import DagId, dag_of
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("versions")

_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {TEXT: {"schema": {"type": "string"}}}}
}


class DagSourceResponse(BaseModel):
    """The DAG file that defined a version of a DAG."""

    dag_id: str
    dag_display_name: str
    version_number: int
    content: str


@router.get(
    "/dagSources/{dag_id}", response_model=DagSourceResponse, responses={**_TEXT, **errors(404)}
)
def get_dag_source(
    caller: AnyCaller,
    dag_id: DagId,
    version_number: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    accept: Annotated[str, Header()] = JSON,
) -> Response | DagSourceResponse:
    """Show the DAG file of the version in force, or of that number."""
    found = caller.read(lambda conn: _source(caller, conn, dag_id, version_number))
    if preferred(accept, (JSON, TEXT)) == TEXT:
        return PlainTextResponse(found.content)
    return found


def _source(
    caller: AnyCaller, conn: Connection, dag_id: str, number: int | None
) -> DagSourceResponse:
    dag_of(caller, conn, dag_id, Permission.READ)
    version = history.as_it_was(conn, dag_id, number)
    path = version.spec.relative_path
    if path not in version.files:
        raise VersionNotFoundError(f"Version {version.number} of {dag_id} has no file {path}.")
    alone = replace(version, files={path: version.files[path]})
    [files] = history.sources(conn, alone)
    return DagSourceResponse(
        dag_id=dag_id,
        dag_display_name=dag_id,
        version_number=version.number,
        content=files[path].decode(errors="backslashreplace"),
    )
