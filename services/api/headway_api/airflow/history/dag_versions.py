"""The versions of DAGs."""

from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from headway.db.reads.pages import version_pages
from headway.db.reads.pages.version_pages import ListedVersion, VersionFilter
from headway.domain.errors import VersionNotFoundError
from headway_api.airflow.listing import OffsetQuery
from headway_api.airflow.named import DagId, check_named, or_all
from headway_api.airflow.ordering import known, ordering
from headway_api.airflow.short_lists import short
from headway_api.airflow.versions_shown import ShownVersion, shown_version
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("versions", "/dags/{dag_id}")

VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]
_ORDERS: Final = dict.fromkeys(("id", "version_number"))


class VersionQuery(OffsetQuery):
    """Which versions are wanted; `bundle_version` is a commit."""

    order_by: list[str] = Field([])
    version_number: int | None = Field(None, ge=1, le=2**31 - 1)
    bundle_name: str | None = None
    bundle_version: str | None = None


class DagVersionCollectionResponse(BaseModel):
    """Some of the versions."""

    dag_versions: list[ShownVersion]
    total_entries: int


@router.get("/dagVersions", responses=errors(404))
def get_dag_versions(
    caller: AnyCaller, dag_id: DagId, query: Annotated[VersionQuery, Query()]
) -> DagVersionCollectionResponse:
    """List the versions of a DAG, or with `~` of all DAGs."""
    order = ordering(query.order_by, "id")
    known(_ORDERS, order)
    wanted = VersionFilter(
        or_all(dag_id), query.version_number, query.bundle_name, query.bundle_version
    )

    def work(conn: Connection) -> DagVersionCollectionResponse:
        check_named(caller, conn, dag_id)
        page = short(
            caller,
            query,
            lambda asked: version_pages.page(conn, asked, wanted),
            descending=order.descending,
        )
        return DagVersionCollectionResponse(
            dag_versions=[_version(row) for row in page.rows], total_entries=page.total_entries
        )

    return caller.read(work)


@router.get("/dagVersions/{version_number}", responses=errors(404))
def get_dag_version(
    caller: AnyCaller, dag_id: DagId, version_number: VersionNumber
) -> ShownVersion:
    """Show one version of a DAG."""

    def work(conn: Connection) -> ShownVersion:
        check_named(caller, conn, dag_id)
        wanted = VersionFilter(dag_id, version_number)
        rows = version_pages.page(conn, caller.page(1), wanted).rows
        if not rows:
            raise VersionNotFoundError(f"DAG {dag_id} has no version {version_number}.")
        return _version(rows[0])

    return caller.read(work)


def _version(row: ListedVersion) -> ShownVersion:
    name, where = (row.dag_id, row.number), (row.bundle, row.commit)
    return shown_version(row.id, name, where, row.created_at)
