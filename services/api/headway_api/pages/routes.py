"""All pages."""

from typing import Final

from fastapi import APIRouter

from headway_api.pages import (
    assets,
    dag,
    dag_changes,
    dags,
    home,
    log,
    run,
    run_changes,
    sign_in,
    task,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    home.router,
    dags.router,
    dag.router,
    dag_changes.router,
    run.router,
    task.router,
    log.router,
    run_changes.router,
    sign_in.router,
    assets.router,
)
