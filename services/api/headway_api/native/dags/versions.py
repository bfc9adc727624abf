"""The versions of a DAG: a list, and each as it was."""

from dataclasses import asdict
from typing import Annotated, Any, TypeAlias

from fastapi import Path, Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.dags.detail import DagTaskView, dag_tasks
from headway.actions.dags.history import AsItWas, as_it_was, check_known
from headway.db.reads import history
from headway.db.reads.history import VersionView
from headway.db.reads.pages.paging import ListPage
from headway.domain.accounts import Permission
from headway.domain.errors import VersionNotFoundError
from headway_api.auth.caller import AnyCaller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router

router = native_router("DAGs")

VersionNumber: TypeAlias = Annotated[
    int, Path(ge=1, le=2**31 - 1, description="The number of the version within its DAG.")
]


class VersionDetail(BaseModel):
    """A version of a DAG as it was.

    `attributes` are all that the DAG's code says of the DAG, except for its tasks; durations are
    in seconds.  `files` are the paths of its code, each with the SHA-256 of the content.
    """

    dag_id: str
    version: VersionView
    attributes: dict[str, Any]
    tasks: list[DagTaskView]
    files: dict[str, str]


@router.get(
    "/dags/{dag_id}/versions",
    response_model=Listed[VersionView],
    responses={**errors(404), **STREAMED},
)
def list_versions(dag_id: str, caller: AnyCaller, request: Request, query: AnyList) -> Response:
    """List the versions of a DAG, the newest first, and whether structure or code differ."""

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[VersionView]:
        caller.check_dag(conn, Permission.READ, dag_id)
        check_known(conn, dag_id)
        return history.page(conn, caller.page(limit, cursor), dag_id)

    return lists.answer(
        request,
        query,
        VersionView,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )


@router.get("/dags/{dag_id}/versions/{number}", responses=errors(404))
def show_version(dag_id: str, number: VersionNumber, caller: AnyCaller) -> VersionDetail:
    """Show a version of a DAG: its tasks, its attributes, and the paths of its code."""

    def read(conn: Connection) -> VersionDetail:
        caller.check_dag(conn, Permission.READ, dag_id)
        was = as_it_was(conn, dag_id, number)
        version = history.version(conn, dag_id, number)
        if version is None:
            raise VersionNotFoundError(f"Version {number} of DAG {dag_id} was deleted just now.")
        return _detail(dag_id, version, was)

    return caller.read(read)


def _detail(dag_id: str, version: VersionView, was: AsItWas) -> VersionDetail:
    attributes = asdict(was.spec)
    del attributes["tasks"]
    return VersionDetail(
        dag_id=dag_id,
        version=version,
        attributes=attributes,
        tasks=dag_tasks(was.spec),
        files=was.files,
    )
