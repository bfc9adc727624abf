"""XComs: what attempts of tasks have left for others."""

import json
from datetime import datetime
from typing import Annotated, Any, Final, Self

from fastapi import Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from headway.db.reads.pages import xcom_pages
from headway.db.reads.pages.xcom_pages import ListedXCom, XComFilter, XComName
from headway.domain.errors import NotFoundError, RequestError
from headway_api.airflow.filters import Instant, like, time_range
from headway_api.airflow.listing import OffsetQuery, shown
from headway_api.airflow.named import DagId, RunId, TaskId, check_named, or_all
from headway_api.airflow.ordering import known, ordering
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("XComs", "/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}")

_ORDERS: Final = dict.fromkeys(("run_after", "timestamp"))


class XComQuery(OffsetQuery):
    """Which XComs are wanted, of the task instances that the path names."""

    order_by: list[str] = Field([])
    xcom_key: str | None = None
    xcom_key_pattern: str | None = None
    xcom_key_prefix_pattern: str | None = None
    run_id_pattern: str | None = None
    run_id_prefix_pattern: str | None = None
    task_id_pattern: str | None = None
    task_id_prefix_pattern: str | None = None
    map_index: int | None = Field(None, ge=-1, le=2**31 - 1)
    map_index_filter: int | None = Field(None, ge=-1, le=2**31 - 1)
    run_after_gte: Instant | None = None
    run_after_gt: Instant | None = None
    run_after_lte: Instant | None = None
    run_after_lt: Instant | None = None
    logical_date_gte: Instant | None = None
    logical_date_gt: Instant | None = None
    logical_date_lte: Instant | None = None
    logical_date_lt: Instant | None = None

    def wanted(self, dag_id: str, run_id: str, task_id: str) -> XComFilter:
        """Return the filter of this query, within what the path names."""
        indexes = {self.map_index, self.map_index_filter} - {None}
        if len(indexes) > 1:
            raise RequestError("map_index and map_index_filter contradict each other.")
        return XComFilter(
            dag_id=or_all(dag_id),
            run_id=or_all(run_id),
            run_id_like=like(self.run_id_pattern, self.run_id_prefix_pattern),
            task_id=or_all(task_id),
            task_id_like=like(self.task_id_pattern, self.task_id_prefix_pattern),
            map_index=next(iter(indexes), None),
            key=self.xcom_key,
            key_like=like(self.xcom_key_pattern, self.xcom_key_prefix_pattern),
            run_after=time_range(
                self.run_after_gte, self.run_after_gt, self.run_after_lte, self.run_after_lt
            ),
            logical_date=time_range(
                self.logical_date_gte,
                self.logical_date_gt,
                self.logical_date_lte,
                self.logical_date_lt,
            ),
        )


class XComResponse(BaseModel):
    """An XCom without its value.

    `timestamp` is when its attempt ended; while that runs, when its run fell due.
    """

    dag_id: str
    dag_display_name: str
    run_id: str
    task_id: str
    task_display_name: str
    map_index: int
    key: str
    run_after: datetime
    logical_date: datetime
    timestamp: datetime

    @classmethod
    def of(cls, it: ListedXCom, **more: Any) -> Self:
        """Return the XCom as it is shown."""
        return cls(
            dag_id=it.dag_id,
            dag_display_name=it.dag_id,
            run_id=it.run_id,
            task_id=it.task_id,
            task_display_name=it.task_id,
            map_index=it.map_index,
            key=it.key,
            run_after=it.run_after,
            logical_date=it.logical_date,
            timestamp=it.ended_at or it.run_after,
            **more,
        )


class XComValueResponse(XComResponse):
    """An XCom with its value; if `stringify` was asked for, with the JSON of it as text."""

    value: Any


class XComCollectionResponse(BaseModel):
    """Some of the XComs; the total is exact below 1,000."""

    xcom_entries: list[XComResponse]
    total_entries: int


@router.get("/xcomEntries", responses=errors(404))
def get_xcom_entries(
    caller: AnyCaller,
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    query: Annotated[XComQuery, Query()],
) -> XComCollectionResponse:
    """List XComs: of a task, or with `~` of all tasks, of all runs, or of all DAGs."""
    wanted, order = query.wanted(dag_id, dag_run_id, task_id), ordering(query.order_by, "run_after")
    known(_ORDERS, order)

    def work(conn: Connection) -> XComCollectionResponse:
        check_named(caller, conn, dag_id, dag_run_id)
        page = shown(
            caller,
            query,
            lambda asked: xcom_pages.page(conn, asked, wanted),
            lambda: xcom_pages.total(conn, caller.bundles, wanted),
            descending=order.descending,
        )
        return XComCollectionResponse(
            xcom_entries=[XComResponse.of(row) for row in page.rows],
            total_entries=page.total_entries,
        )

    return caller.read(work)


@router.get("/xcomEntries/{xcom_key}", responses=errors(404))
def get_xcom_entry(  # noqa: PLR0913, PLR0917 - what a request gives
    caller: AnyCaller,
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    xcom_key: Annotated[str, Path(max_length=512)],
    map_index: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1,
    stringify: bool = False,
) -> XComValueResponse:
    """Show an XCom with its value."""
    name = XComName(dag_id, dag_run_id, task_id, map_index, xcom_key)

    def work(conn: Connection) -> XComValueResponse:
        check_named(caller, conn, dag_id, dag_run_id)
        wanted = XComFilter(
            dag_id=dag_id, run_id=dag_run_id, task_id=task_id, map_index=map_index, key=xcom_key
        )
        rows = xcom_pages.page(conn, caller.page(1), wanted).rows
        value = xcom_pages.value(conn, caller.bundles, name)
        if not rows or value is None:
            raise NotFoundError(
                f"Task {task_id!r} has left no XCom {xcom_key!r} in run {dag_run_id!r}."
            )
        (it,) = value
        return XComValueResponse.of(rows[0], value=json.dumps(it) if stringify else it)

    return caller.read(work)
