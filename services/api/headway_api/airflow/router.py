"""All routes of Airflow's REST API v2."""

from fastapi import APIRouter

from headway_api.airflow.dags import changes as dag_changes
from headway_api.airflow.dags import details as dag_details
from headway_api.airflow.dags import listing as dag_listing
from headway_api.http.documented import USUAL

router = APIRouter(prefix="/api/v2", responses=USUAL)
for _each in (dag_listing, dag_details, dag_changes):
    router.include_router(_each.router)
