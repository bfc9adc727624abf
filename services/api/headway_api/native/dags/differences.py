"""What is different between two versions of a DAG."""

from fastapi import Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.dags.history import as_it_was, changed_sources
from headway.decide.changes import difference
from headway.decide.changes.difference import FileDifference, Structure
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.caching import tagged
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.dags.versions import VersionNumber

router = native_router("DAGs")


class VersionDifference(BaseModel):
    """How the version `new` differs from `old`, in structure and in code.

    `lines` of a file are a unified diff.
    """

    dag_id: str
    old: int
    new: int
    structure: Structure
    files: list[FileDifference]


@router.get(
    "/dags/{dag_id}/versions/{old}/diff/{new}",
    response_model=VersionDifference,
    responses=errors(404),
)
def show_version_difference(
    dag_id: str, old: VersionNumber, new: VersionNumber, caller: AnyCaller, request: Request
) -> Response:
    """Show what is different between two versions of a DAG: tasks, edges and code."""
    found = caller.read(lambda conn: read_difference(caller, conn, dag_id, old, new))
    return tagged(request, found.model_dump_json().encode(), strong=True)


def read_difference(
    caller: Caller, conn: Connection, dag_id: str, old: int, new: int
) -> VersionDifference:
    """Return how two versions of a DAG differ; NotFoundError without either."""
    caller.check_dag(conn, Permission.READ, dag_id)
    before, after = as_it_was(conn, dag_id, old), as_it_was(conn, dag_id, new)
    return VersionDifference(
        dag_id=dag_id,
        old=old,
        new=new,
        structure=difference.structure(before.spec, after.spec),
        files=difference.code(*changed_sources(conn, before, after)),
    )
