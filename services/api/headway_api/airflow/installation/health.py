"""Which release this is, and whether its services are alive: for everybody, as in Airflow.

Airflow's client sends no token with these two requests.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

from fastapi import Request
from pydantic import BaseModel
from sqlalchemy import Connection

from headway import __version__
from headway.db.reads import measures, process_views
from headway.db.reads.process_views import ProcessView
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.database import ApiDatabase
from headway_api.http.routers import airflow_router

router = airflow_router("installation")

Status: TypeAlias = Literal["healthy", "unhealthy"]

SCHEDULER: Final = "scheduler"
PARSER: Final = "parser"


class ReleaseResponse(BaseModel):
    """The release of Headway; `git_version` is always null."""

    version: str
    git_version: None = None


class DatabaseHealth(BaseModel):
    """The database, which has answered."""

    status: Literal["healthy"] = "healthy"


class SchedulerHealth(BaseModel):
    """The schedulers: healthy while one of them is alive."""

    status: Status
    latest_scheduler_heartbeat: datetime | None


class TriggererHealth(BaseModel):
    """Headway has no triggerer; both are always null."""

    status: None = None
    latest_triggerer_heartbeat: None = None


class ParserHealth(BaseModel):
    """The parsers, which Airflow calls DAG processors: healthy while one of them is alive."""

    status: Status
    latest_dag_processor_heartbeat: datetime | None


class HealthResponse(BaseModel):
    """Whether the database answers, and whether the services are alive by their heartbeats."""

    metadatabase: DatabaseHealth
    scheduler: SchedulerHealth
    triggerer: TriggererHealth
    dag_processor: ParserHealth


@router.get("/version")
def get_version() -> ReleaseResponse:
    """Return which release this is."""
    return ReleaseResponse(version=__version__)


@router.get("/monitor/health")
def get_health(request: Request) -> HealthResponse:
    """Tell whether a scheduler and a parser are alive; 503 if the database does not answer."""
    database: ApiDatabase = request.app.state.database
    settings: SchedulerSettings = request.app.state.scheduler
    threshold = settings.scheduler_health_check_threshold
    with database.reads.connect() as conn:
        return _health(conn, threshold)


def _health(conn: Connection, threshold: float) -> HealthResponse:
    alive = measures.alive(conn, threshold)
    processes = process_views.processes(conn)

    def status(kind: str) -> Status:
        return "healthy" if alive.get(kind) else "unhealthy"

    return HealthResponse(
        metadatabase=DatabaseHealth(),
        scheduler=SchedulerHealth(
            status=status(SCHEDULER), latest_scheduler_heartbeat=_latest(processes, SCHEDULER)
        ),
        triggerer=TriggererHealth(),
        dag_processor=ParserHealth(
            status=status(PARSER), latest_dag_processor_heartbeat=_latest(processes, PARSER)
        ),
    )


def _latest(processes: Sequence[ProcessView], kind: str) -> datetime | None:
    return max((each.beat_at for each in processes if each.kind == kind), default=None)
