"""All routes of Airflow's REST API v2."""

from typing import Final

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
from headway_api.airflow.instances import clearing, dependencies, marking
from headway_api.airflow.instances import details as instance_details
from headway_api.airflow.instances import listing as instance_listing
from headway_api.airflow.results import logs, xcoms
from headway_api.airflow.runs import changes as run_changes
from headway_api.airflow.runs import listing as run_listing
from headway_api.airflow.runs import triggering, waiting
from headway_api.airflow.secrets import connections, variables
from headway_api.airflow.tasks import routes as task_routes

# Refusals come first: another path might take a word of theirs for a name.
ROUTERS: Final = [
    each.router
    for each in (
        refused,
        *(dag_listing, dag_details, dag_changes),
        *(run_listing, triggering, waiting, run_changes),
        *(task_routes, instance_listing, instance_details, dependencies, marking, clearing),
        *(logs, xcoms, event_logs, dag_versions, dag_sources, dag_stats, file_problems),
        *(health, jobs, pools, variables, connections, backfills),
    )
]
