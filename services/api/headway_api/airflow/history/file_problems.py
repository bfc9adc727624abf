"""What is wrong with DAG files: import errors, and warnings by DAG."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Final, Literal, Self

from fastapi import Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from headway.db.reads.dag_file_views import ImportProblem
from headway.db.reads.pages import file_pages, paging
from headway.db.reads.pages.file_pages import DagWarning, FileFilter
from headway.domain.errors import NotFoundError, RequestError
from headway_api.airflow.filters import like
from headway_api.airflow.listing import OffsetQuery
from headway_api.airflow.ordering import known, ordering
from headway_api.airflow.short_lists import short
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("files")

VARYING: Final = "runtime varying value"
_ORDERS: Final = dict.fromkeys(("filename", "bundle_name", "id", "import_error_id"))
_WARNING_ORDERS: Final = dict.fromkeys(("dag_id",))
_NUMBER_BITS: Final = 53
"""Every program reads integers of so many bits exactly, also those that read them as floats."""


class ImportErrorQuery(OffsetQuery):
    """Of which DAG files import errors are wanted; `filename` is the path within the bundle."""

    order_by: list[str] = Field([])
    filename: str | None = None
    filename_pattern: str | None = None
    filename_prefix_pattern: str | None = None
    bundle_name: str | None = None

    def wanted(self) -> FileFilter:
        """Return the filter of this query."""
        path_like = like(self.filename_pattern, self.filename_prefix_pattern)
        if self.filename is not None:
            if path_like is not None:
                raise RequestError("Give filename or a pattern of it, not both.")
            path_like = paging.exactly(self.filename)
        return FileFilter(self.bundle_name, path_like)


class ImportErrorResponse(BaseModel):
    """Why a DAG file could not be taken over.  The id stays the same as long as the file's name."""

    import_error_id: int
    timestamp: datetime
    filename: str
    bundle_name: str
    stack_trace: str

    @classmethod
    def of(cls, it: ImportProblem) -> Self:
        """Return the error as it is shown."""
        return cls(
            import_error_id=_number(it),
            timestamp=it.at,
            filename=it.relative_path,
            bundle_name=it.bundle,
            stack_trace=it.error,
        )


class ImportErrorCollectionResponse(BaseModel):
    """Some of the import errors in force."""

    import_errors: list[ImportErrorResponse]
    total_entries: int


class WarningQuery(OffsetQuery):
    """Of which DAG warnings are wanted; `runtime varying value` is the one type there is."""

    order_by: list[str] = Field([])
    dag_id: str | None = None
    warning_type: Literal["asset conflict", "non-existent pool", "runtime varying value"] | None = (
        None
    )


class DagWarningResponse(BaseModel):
    """What the author of a DAG's file should know; all DAGs of the file have it.

    Airflow's clients know three types of warnings. Those of Headway have the type
    `runtime varying value`, whatever they are about.
    """

    dag_id: str
    dag_display_name: str
    warning_type: Literal["runtime varying value"] = VARYING
    message: str
    timestamp: datetime

    @classmethod
    def of(cls, it: DagWarning) -> Self:
        """Return the warning as it is shown."""
        return cls(
            dag_id=it.dag_id, dag_display_name=it.dag_id, message=it.warning, timestamp=it.at
        )


class DagWarningCollectionResponse(BaseModel):
    """Some of the warnings in force."""

    dag_warnings: list[DagWarningResponse]
    total_entries: int


@router.get("/importErrors")
def get_import_errors(
    caller: AnyCaller, query: Annotated[ImportErrorQuery, Query()]
) -> ImportErrorCollectionResponse:
    """List the import errors in force."""
    wanted, order = query.wanted(), ordering(query.order_by, "filename")
    known(_ORDERS, order)

    def work(conn: Connection) -> ImportErrorCollectionResponse:
        page = short(
            caller,
            query,
            lambda asked: file_pages.errors(conn, asked, wanted),
            descending=order.descending,
        )
        return ImportErrorCollectionResponse(
            import_errors=[ImportErrorResponse.of(it) for it in page.rows],
            total_entries=page.total_entries,
        )

    return caller.read(work)


@router.get("/importErrors/{import_error_id}", responses=errors(404))
def get_import_error(
    caller: AnyCaller, import_error_id: Annotated[int, Path(ge=0, lt=2**_NUMBER_BITS)]
) -> ImportErrorResponse:
    """Show one import error in force."""

    def work(conn: Connection) -> ImportErrorResponse:
        for it in _every_error(caller, conn):
            if _number(it) == import_error_id:
                return ImportErrorResponse.of(it)
        raise NotFoundError(f"There is no import error {import_error_id} any more.")

    return caller.read(work)


@router.get("/dagWarnings")
def list_dag_warnings(
    caller: AnyCaller, query: Annotated[WarningQuery, Query()]
) -> DagWarningCollectionResponse:
    """List the warnings in force, those of a file once for each of its DAGs."""
    order = ordering(query.order_by, "dag_id")
    known(_WARNING_ORDERS, order)
    if query.warning_type not in {None, VARYING}:
        return DagWarningCollectionResponse(dag_warnings=[], total_entries=0)

    def work(conn: Connection) -> DagWarningCollectionResponse:
        page = short(
            caller,
            query,
            lambda asked: file_pages.dag_warnings(conn, asked, query.dag_id),
            descending=order.descending,
        )
        return DagWarningCollectionResponse(
            dag_warnings=[DagWarningResponse.of(it) for it in page.rows],
            total_entries=page.total_entries,
        )

    return caller.read(work)


def _every_error(caller: Caller, conn: Connection) -> Iterable[ImportProblem]:
    cursor: str | None = ""
    while cursor is not None:
        page = file_pages.errors(conn, caller.page(paging.MOST_ROWS, cursor))
        yield from page.rows
        cursor = page.following


def _number(it: ImportProblem) -> int:
    """Return a number for the file, which has none: the same each time, and another for each."""
    name = f"{it.bundle}\0{it.relative_path}".encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest()) >> (64 - _NUMBER_BITS)
