"""All pages."""

from typing import Final

from fastapi import APIRouter

from headway_api.pages import sign_in
from headway_api.pages.admin import accounts, secret_changes, secrets, tokens
from headway_api.pages.dags import (
    calendar_page,
    cell_changes,
    dag,
    dag_changes,
    dags,
    difference,
    graph,
    trigger_page,
    versions,
)
from headway_api.pages.installation import (
    backfills,
    cost,
    deadlines,
    home,
    journal,
    messages,
    new_backfill,
    pools,
    processes,
)
from headway_api.pages.logs import log, log_stream
from headway_api.pages.runs import run, run_changes, runs, spark, task

ROUTERS: Final[tuple[APIRouter, ...]] = (
    home.router,
    dags.router,
    dag.router,
    dag_changes.router,
    trigger_page.router,
    cell_changes.router,
    graph.router,
    versions.router,
    difference.router,
    calendar_page.router,
    runs.router,
    journal.router,
    processes.router,
    pools.router,
    new_backfill.router,
    backfills.router,
    deadlines.router,
    messages.router,
    cost.router,
    secrets.router,
    secret_changes.router,
    tokens.router,
    accounts.router,
    run.router,
    task.router,
    spark.router,
    log.router,
    log_stream.router,
    run_changes.router,
    sign_in.router,
)
