"""When a DAG runs by its schedule: the next runs, or those about a span of time."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import AwareDatetime, BaseModel
from sqlalchemy import Connection

from headway.actions.dags.detail import UpcomingRuns, runs_between_dates, upcoming_runs
from headway.db.core.server import now
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import native_router

router = native_router("DAGs")

MOST = 2_000


class TimetableRun(BaseModel):
    """A run of a schedule, and what is unusual about it, such as a change of the clocks."""

    run_after: datetime
    interval_start: datetime
    interval_end: datetime
    notes: list[str]


class DagTimetable(BaseModel):
    """Runs of a DAG's schedule, and what its timetable remarks on runs that it leaves out."""

    dag_id: str
    timezone: str
    runs: list[TimetableRun]
    remarks: list[str]


@router.get("/dags/{dag_id}/timetable", responses=errors(404))
def show_timetable(
    dag_id: str,
    caller: AnyCaller,
    first: Annotated[
        AwareDatetime | None, Query(alias="from", description="The earliest start of an interval.")
    ] = None,
    last: Annotated[
        AwareDatetime | None, Query(alias="to", description="The latest start of an interval.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MOST, description="Runs at most.")] = 100,
) -> DagTimetable:
    """Show when a DAG runs by its schedule.

    Without `from` and `to` these are the next runs, of a paused DAG as if it were unpaused now.
    With both, they are the runs about that time, whether or not there are such runs.
    """
    if (first is None) != (last is None) or (first and last and last < first):
        raise RequestError("Give `from` and `to`, in this order, or neither.")

    def read(conn: Connection) -> UpcomingRuns:
        caller.check_dag(conn, Permission.READ, dag_id)
        if first is None or last is None:
            return upcoming_runs(conn, dag_id, now(conn), limit)
        return runs_between_dates(conn, dag_id, (first, last), limit)

    return _shown(dag_id, caller.read(read))


def _shown(dag_id: str, found: UpcomingRuns) -> DagTimetable:
    runs = [
        TimetableRun(
            run_after=coming.info.run_after,
            interval_start=coming.info.data_interval.start,
            interval_end=coming.info.data_interval.end,
            notes=list(coming.notes),
        )
        for coming in found.runs
    ]
    return DagTimetable(
        dag_id=dag_id, timezone=found.timezone, runs=runs, remarks=list(found.remarks)
    )
