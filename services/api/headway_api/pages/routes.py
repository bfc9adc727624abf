"""All pages."""

from typing import Final

from fastapi import APIRouter

from headway_api.pages import (
    assets,
    backfills,
    calendar_page,
    dag,
    dag_changes,
    dags,
    difference,
    graph,
    home,
    journal,
    log,
    pools,
    processes,
    run,
    run_changes,
    runs,
    sign_in,
    task,
    versions,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    home.router,
    dags.router,
    dag.router,
    dag_changes.router,
    graph.router,
    versions.router,
    difference.router,
    calendar_page.router,
    runs.router,
    journal.router,
    processes.router,
    pools.router,
    backfills.router,
    run.router,
    task.router,
    log.router,
    run_changes.router,
    sign_in.router,
    assets.router,
)
