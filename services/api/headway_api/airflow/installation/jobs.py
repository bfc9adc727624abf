"""Service processes, as Airflow's jobs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from fastapi import Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from headway.db.reads.pages import process_pages
from headway.db.reads.pages.process_pages import ListedProcess, ProcessFilter
from headway.domain.errors import RequestError
from headway_api.airflow.filters import Instant, time_range
from headway_api.airflow.listing import OffsetQuery
from headway_api.airflow.ordering import known, ordering
from headway_api.airflow.short_lists import short
from headway_api.auth.caller import AnyCaller
from headway_api.http.refusals import RoleError
from headway_api.http.routers import airflow_router

router = airflow_router("installation")

JobState: TypeAlias = Literal["running", "ended"]

KINDS: Final[Mapping[str, str]] = {
    "SchedulerJob": "scheduler",
    "DagProcessorJob": "parser",
    "BackfillJob": "backfill",
    "WorkerJob": "worker",
    "ApiJob": "api",
}
"""The type of a job, and the kind of process that it stands for."""

_TYPES: Final = {kind: its_type for its_type, kind in KINDS.items()}
_ORDERS: Final = dict.fromkeys(("id", "start_date"))


class JobQuery(OffsetQuery):
    """Which processes are wanted.  `is_alive` wants those that have not ended."""

    order_by: list[str] = Field([])
    is_alive: bool | None = None
    job_state: JobState | None = None
    job_type: str | None = None
    hostname: str | None = None
    start_date_gte: Instant | None = None
    start_date_gt: Instant | None = None
    start_date_lte: Instant | None = None
    start_date_lt: Instant | None = None
    end_date_gte: Instant | None = None
    end_date_gt: Instant | None = None
    end_date_lte: Instant | None = None
    end_date_lt: Instant | None = None

    def wanted(self) -> ProcessFilter:
        """Return the filter of this query."""
        alive = self.is_alive
        if self.job_state is not None:
            alive = self.job_state == "running"
            if self.is_alive not in {None, alive}:
                raise RequestError("is_alive and job_state contradict each other.")
        if self.job_type is not None and self.job_type not in KINDS:
            raise RequestError(
                f"There are no jobs of type {self.job_type[:60]!r}; there are {', '.join(KINDS)}."
            )
        return ProcessFilter(
            kind=self.job_type and KINDS[self.job_type],
            hostname=self.hostname,
            ended=None if alive is None else not alive,
            started_at=time_range(
                self.start_date_gte, self.start_date_gt, self.start_date_lte, self.start_date_lt
            ),
            ended_at=time_range(
                self.end_date_gte, self.end_date_gt, self.end_date_lte, self.end_date_lt
            ),
        )


class JobResponse(BaseModel):
    """A service process.  A process that was declared dead is `ended` as well."""

    id: int
    job_type: str
    state: JobState
    hostname: str
    start_date: datetime
    end_date: datetime | None
    latest_heartbeat: datetime
    dag_id: None = None
    dag_display_name: None = None
    executor_class: None = None
    unixname: None = None


class JobCollectionResponse(BaseModel):
    """Some of the service processes."""

    jobs: list[JobResponse]
    total_entries: int


@router.get("/jobs")
def get_jobs(caller: AnyCaller, query: Annotated[JobQuery, Query()]) -> JobCollectionResponse:
    """List the service processes, those that have ended too; for accounts of every bundle."""
    if caller.bundles is not None:
        raise RoleError(
            f"{caller.account.name} sees some bundles alone; processes are of no bundle."
        )
    wanted, order = query.wanted(), ordering(query.order_by, "id")
    known(_ORDERS, order)

    def work(conn: Connection) -> JobCollectionResponse:
        page = short(
            caller,
            query,
            lambda asked: process_pages.page(conn, asked, wanted),
            descending=order.descending,
        )
        return JobCollectionResponse(
            jobs=[_job(row) for row in page.rows], total_entries=page.total_entries
        )

    return caller.read(work)


def _job(row: ListedProcess) -> JobResponse:
    return JobResponse(
        id=row.process.id,
        job_type=_TYPES.get(row.process.kind, row.process.kind),
        state="running" if row.ended_at is None else "ended",
        hostname=row.process.hostname,
        start_date=row.process.started_at,
        end_date=row.ended_at,
        latest_heartbeat=row.process.beat_at,
    )
