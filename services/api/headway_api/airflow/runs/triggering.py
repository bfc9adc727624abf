"""Trigger a DAG."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Connection

from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.core.server import now
from headway.domain.accounts import Permission
from headway.domain.arguments import JsonValue
from headway.domain.errors import RequestError
from headway.domain.interval import DataInterval
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.airflow.filters import Instant
from headway_api.airflow.named import ALL, DagId, run_named
from headway_api.airflow.runs.models import ShownRun
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("DagRun")


class TriggerBody(BaseModel):
    """A run to create.

    It is as if at its logical date, which is the present moment by default; a date to come is
    waited for.  The note is the reason that the journal tells.
    """

    model_config = ConfigDict(extra="forbid")

    dag_run_id: str | None = None
    logical_date: Instant | None = None
    run_after: Instant | None = None
    data_interval_start: Instant | None = None
    data_interval_end: Instant | None = None
    conf: dict[str, JsonValue] | None = None
    note: Annotated[str, Field(max_length=1000)] | None = None
    partition_key: None = None

    @model_validator(mode="after")
    def _whole(self) -> "TriggerBody":
        if (self.data_interval_start is None) != (self.data_interval_end is None):
            raise ValueError("give both ends of the data interval, or none")
        dates = {self.logical_date, self.run_after} - {None}
        if len(dates) > 1:
            raise ValueError("a run falls due at its logical date: run_after cannot be another one")
        return self

    def request(self, dag_id: str, *, in_future: bool) -> TriggerRequest:
        """Return what is asked for, of that DAG."""
        start, end = self.data_interval_start, self.data_interval_end
        return TriggerRequest(
            dag_id,
            self.conf or {},
            self.dag_run_id,
            self.logical_date or self.run_after,
            in_future,
            None if start is None or end is None else DataInterval(start, end),
            self.note,
        )


@router.post("/dags/{dag_id}/dagRuns", response_model=ShownRun, responses=errors(404, 409))
def trigger_dag_run(
    caller: AnyCaller, request: Request, dag_id: DagId, body: TriggerBody, dry_run: DryRun = False
) -> Response:
    """Trigger a DAG; 409 when it has a run of that id already."""
    if dag_id == ALL:
        raise RequestError("Name the DAG to trigger; ~ names all of them.")
    wanted = body.request(dag_id, in_future=read(SchedulerSettings).allow_trigger_in_future)

    def work(conn: Connection) -> ShownRun:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        run_id = trigger(conn, wanted, now(conn), caller.actor)
        return ShownRun.of(run_named(caller, conn, dag_id, run_id, Permission.OPERATE))

    return changed(caller, request, work, asked=body, dry_run=dry_run)
