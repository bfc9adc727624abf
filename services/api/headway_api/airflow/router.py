"""All routes of Airflow's REST API v2."""

from fastapi import APIRouter

from headway_api.airflow import refused
from headway_api.airflow.backfills import routes as backfills
from headway_api.airflow.dags import changes as dag_changes
from headway_api.airflow.dags import details as dag_details
from headway_api.airflow.dags import listing as dag_listing
from headway_api.airflow.history import (
    dag_sources,
    dag_stats,
    dag_versions,
    event_logs,
    file_problems,
)
from headway_api.airflow.installation import health, jobs, pools
from headway_api.airflow.results import logs, xcoms
from headway_api.airflow.secrets import connections, variables
from headway_api.http.documented import USUAL

router = APIRouter(prefix="/api/v2", responses=USUAL)
# Refusals come first: another path might take a word of theirs for a name.
router.include_router(refused.router)
for _each in (dag_listing, dag_details, dag_changes):
    router.include_router(_each.router)
for _each in (
    *(health, jobs, pools, variables, connections, backfills),
    *(event_logs, dag_versions, dag_sources, dag_stats, file_problems, logs, xcoms),
):
    router.include_router(_each.router)
